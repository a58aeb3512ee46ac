import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { argvOf, hostWord } from "../host/arguments";
import { absent } from "../host/files";
import { foreign } from "../host/foreign";
import { certificatesIn, fingerprintOf } from "../host/pem";
import { runProgram } from "../host/program";
import type { Target } from "../store";
import { directoryStore } from "./directory";

const HASH_LINK = /^[0-9a-f]{8}\.\d+$/;
/** The links that `openssl rehash` makes and removes, of certificates and of revocation lists, and the files that it reads. */
const REHASHED_NAME = /^[0-9a-f]{8}\.r?\d+$/;
const REHASHED = /\.(pem|crt|cer|crl)$/;
const HASH_PATTERN = `${"[0-9a-f]".repeat(8)}.[0-9]*`;
const nameOf = ({ config, alias }: Target) => config.certFileName ?? `${alias}.pem`;

/** A directory that OpenSSL searches by links named after the subject's hash. */
export const opensslDirectory = directoryStore({
  async defaultDirectory(host) {
    const { stdout } = await runProgram(host, argvOf("openssl", "version", "-d"));
    const base = /"(.+)"/.exec(stdout)?.[1];
    if (!base) throw new Error("openssl version -d names no directory; set config.trustStorePath.");
    return join(base, "certs");
  },
  parts: (target) => [{ name: nameOf(target), holds: "certificate" }],

  async observe(directory, target, { fingerprint }) {
    const links = (await readdir(directory)).filter((name) => HASH_LINK.test(name));
    for (const link of links) if ((await leadsTo(directory, link, nameOf(target), fingerprint)) && (await isReached(directory, link))) return [];
    return [`no hash link leads to ${nameOf(target)}`];
  },

  async findRemains(directory, _target, { fingerprint }) {
    const links = (await readdir(directory).catch(absent))?.filter((name) => HASH_LINK.test(name)) ?? [];
    const clauses: string[] = [];
    for (const link of links) if (await holdsIt(directory, link, fingerprint)) clauses.push(`${foreign(join(directory, link))} leads to it`);
    return clauses;
  },

  /**
   * rehash leaves some dead links, at which OpenSSL stops looking, and replaces some files of others. So dead links are removed
   * first, and it runs only if no such file is there.
   */
  async refresh(directory, _target, transaction, isRemoval) {
    const [foreign] = await findForeign(directory);
    if (foreign && !isRemoval)
      throw new Error(
        `${join(directory, foreign)} is no link to a certificate in its own directory, and openssl rehash may remove it. Put its certificate there as a file that ends in .pem instead.`,
      );
    await transaction.reload(argvOf("find", "-L", ".", "-maxdepth", "1", "-type", "l", "-name", hostWord(HASH_PATTERN), "-delete"), { directory });
    if (!foreign) await transaction.reload(argvOf("openssl", "rehash", "."), { directory });
  },
});

/** Returns entries with the name of a hash link that rehash would not make: a plain file, or a link that leads elsewhere. */
async function findForeign(directory: string) {
  const names = ((await readdir(directory).catch(absent)) ?? []).filter((name) => REHASHED_NAME.test(name));
  const foreign: string[] = [];
  for (const name of names) {
    const target = await readlink(join(directory, name)).catch(unlessPlain);
    const isOwn = target !== undefined && !target.includes("/") && REHASHED.test(target);
    if (!isOwn && (await stat(join(directory, name)).catch(absent))) foreign.push(name);
  }
  return foreign;
}

/** Of several files with the same certificate only one has a link; any of them will do. */
async function leadsTo(directory: string, link: string, name: string, fingerprint: string) {
  const path = join(directory, link);
  return (await readlink(path).catch(unlessPlain)) === name || holdsIt(directory, link, fingerprint);
}

async function holdsIt(directory: string, link: string, fingerprint: string) {
  const text = await readFile(join(directory, link), "utf8").catch(absent);
  return certificatesIn(text ?? "").some((each) => fingerprintOf(each) === fingerprint);
}

/** OpenSSL counts up from 0, and stops at the first number without a file. */
async function isReached(directory: string, link: string) {
  const [hash, number] = link.split(".");
  for (let each = 0; each < Number(number); each++) if (!(await stat(join(directory, `${hash}.${each}`)).catch(absent))) return false;
  return true;
}

/** A file that is no link is accepted here; OpenSSL itself makes links. */
function unlessPlain(error: NodeJS.ErrnoException) {
  if (error.code !== "EINVAL") absent(error);
}
