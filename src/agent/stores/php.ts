import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "../host/files";
import { ini } from "../settings/formats";
import { pointedStore } from "../settings/pointed";
import { oneValue } from "../settings/setting";
import { bundleOrOs, envFileOf } from "./variables";

const VERSIONS = "/etc/php";

/** PHP's own TLS and its curl, by the settings of an ini file. */
export const phpCafile = pointedStore(async (target, host) => {
  const file = target.config.envFilePath === undefined ? await findDefault() : envFileOf(target, host);
  const setting = (name: string) => (path: string) => oneValue({ file, name, format: ini }, path);
  return bundleOrOs(target, host, file, setting("openssl.cafile"), setting("curl.cainfo"));
});

/** The newest PHP's directory for its command line; a server's has its own. */
async function findDefault() {
  const versions = (await readdir(VERSIONS).catch(absent)) ?? [];
  const [newest] = versions.filter((each) => /^\d+\.\d+$/.test(each)).toSorted((one, other) => Number(other) - Number(one));
  if (newest === undefined) throw new Error(`${VERSIONS} holds the settings of no PHP. Let config.envFilePath name an ini file that PHP reads.`);
  return join(VERSIONS, newest, "cli/conf.d/99-certitude.ini");
}
