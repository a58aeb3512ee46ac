import { join } from "node:path";
import { argvOf } from "../host/arguments";
import type { Host } from "../host/host";
import { runProgram } from "../host/program";
import { curlrc } from "../settings/formats";
import { pointedStore } from "../settings/pointed";
import { oneValue } from "../settings/setting";
import { bundleOrOs, envFileOf } from "./variables";

/** curl, by a variable where the config names a file for it, else by the agent's own ~/.curlrc. */
export const curlBundle = pointedStore(async (target, host) => {
  const isVariable = target.config.envFilePath !== undefined;
  const place = isVariable ? { file: envFileOf(target, host), name: "CURL_CA_BUNDLE" } : { file: join(host.home, ".curlrc"), name: "cacert", format: curlrc };
  const isNative = target.config.preferOsStore && !isVariable && (await knowsCaNative(host));
  return bundleOrOs(target, host, place.file, (path) => (isNative ? oneValue({ ...place, name: "ca-native" }, "") : oneValue(place, path)));
});

/** Releases before 8.2 are given the system's bundle by name. */
const knowsCaNative = (host: Host) =>
  runProgram(host, argvOf("curl", "--ca-native", "--version")).then(
    () => true,
    (error: Error) => {
      if (error.message.includes("is unknown")) return false;
      throw error;
    },
  );
