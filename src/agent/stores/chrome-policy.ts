import { X509Certificate } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { toPem } from "#x509/der-writer";
import { absent, findEntry } from "../host/files";
import { foreign } from "../host/foreign";
import { type Host, pathOn } from "../host/host";
import { certificatesIn, fingerprintOf } from "../host/pem";
import { jsonEntry, readList } from "../settings/json-entry";
import type { Store, Target } from "../store";

/** The policy directories of Chrome, Chromium and Edge. */
export const CHROME_DIRECTORIES = ["/etc/opt/chrome/policies/managed", "/etc/chromium/policies/managed", "/etc/opt/edge/policies/managed"];
const POLICY = "CACertificates";

async function directoryOf({ config: { trustStorePath } }: Target, host: Host) {
  if (trustStorePath !== undefined) return pathOn(host, trustStorePath, "trustStorePath");
  for (const each of CHROME_DIRECTORIES) if (await findEntry(each)) return each;
  return "/etc/chromium/policies/managed";
}

async function locate(target: Target, host: Host) {
  const directory = await directoryOf(target, host);
  const name = target.config.certFileName ?? "certitude.json";
  if (!name.endsWith(".json")) throw new Error("config.certFileName must end in .json for chrome_policy: it names the file of policies.");
  return { directory, name, list: { file: join(directory, name), names: [POLICY] as [string] } };
}

const entryOf = (certificate: string) => new X509Certificate(certificate).raw.toString("base64");

/** The policy of Chrome, Chromium and Edge that lists the authorities which they trust besides their own. */
export const chromePolicy: Store = {
  async observe(target, { certificate }, host) {
    const { list } = await locate(target, host);
    const differences = await jsonEntry(list, entryOf(certificate)).observe(host);
    return { certificates: differences.length === 0 ? certificatesIn(certificate) : [], differences };
  },

  async findRemains(target, { fingerprint }, host) {
    const directory = await directoryOf(target, host);
    const files = ((await readdir(directory).catch(absent)) ?? []).map((name) => join(directory, name));
    const clauses: string[] = [];
    for (const file of files.filter((each) => each.endsWith(".json")))
      if ((await readList({ file, names: [POLICY] })).some((each) => isSame(each, fingerprint))) clauses.push(`${foreign(file)} lists it in ${POLICY}`);
    return clauses;
  },

  /** Of several files with the same policy the browser takes one. */
  async install(target, { certificate }, transaction) {
    const { directory, name, list } = await locate(target, transaction.host);
    for (const other of ((await readdir(directory).catch(absent)) ?? []).filter((each) => each.endsWith(".json") && each !== name)) {
      const file = join(directory, other);
      if ((await readList({ file, names: [POLICY] })).length > 0)
        throw new Error(`${foreign(file)} sets ${POLICY} too, and the browser takes the list of one file alone. Let config.certFileName be ${foreign(other)}.`);
    }
    await transaction.makeDirectory(directory);
    await jsonEntry(list, entryOf(certificate)).install(transaction);
  },

  async remove(target, transaction, certificate) {
    const { directory, list } = await locate(target, transaction.host);
    if (certificate !== undefined) await jsonEntry(list, entryOf(certificate)).remove(transaction);
    await transaction.removeEmptyDirectories(directory);
  },
};

function isSame(base64: string, fingerprint: string) {
  const bytes = Buffer.from(base64, "base64");
  return bytes.length > 0 && fingerprintOf(toPem("CERTIFICATE", bytes)) === fingerprint;
}
