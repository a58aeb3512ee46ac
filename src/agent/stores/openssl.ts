import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "../files";
import type { Target } from "../store";
import { runTool } from "../tool";
import { directoryStore } from "./directory";

const HASH_LINK = /^[0-9a-f]{8}\.\d+$/;
const nameOf = ({ config, alias }: Target) => config.certFileName ?? `${alias}.pem`;

/** A directory that OpenSSL searches by links named after the subject's hash. */
export const opensslDirectory = directoryStore({
  async defaultDirectory(host) {
    const { stdout } = await runTool(host, ["openssl", "version", "-d"]);
    const base = /"(.+)"/.exec(stdout)?.[1];
    if (!base) throw new Error("openssl version -d names no directory; set config.trustStorePath.");
    return join(base, "certs");
  },
  parts: (target) => [{ name: nameOf(target), holds: "certificate" }],

  async observe(directory, target) {
    for (const name of await readdir(directory))
      if (HASH_LINK.test(name) && (await readlink(join(directory, name)).catch(unlessPlain)) === nameOf(target)) return [];
    return [`no hash link leads to ${nameOf(target)}`];
  },

  refresh: (directory, _target, change) => change.refresh(["openssl", "rehash", directory]),
});

/** Where links are not to be had, files have their place; OpenSSL makes links here. */
function unlessPlain(error: NodeJS.ErrnoException) {
  if (error.code !== "EINVAL") absent(error);
}
