import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { absent, readSnapshot } from "../host/files";
import { foreign } from "../host/foreign";
import { type Host, pathOn } from "../host/host";
import { fingerprintOf } from "../host/pem";
import { jsonEntry } from "../settings/json-entry";
import { pointedStore } from "../settings/pointed";
import type { Store, Target } from "../store";
import { directoryStore } from "./directory";
import { profileRoots } from "./firefox-profiles";
import { certificatesInDatabase } from "./nss-database";

export const FIREFOX_POLICIES = "/etc/firefox/policies/policies.json";
const nameOf = ({ config, alias }: Target) => config.certFileName ?? `${alias}.pem`;

function fileOf({ config: { trustStorePath = FIREFOX_POLICIES, preferOsStore } }: Target, host: Host) {
  if (preferOsStore) throw new Error("config.preferOsStore does not suit firefox_policy here: Firefox reads the system's store on Windows and macOS alone.");
  const file = pathOn(host, trustStorePath, "trustStorePath");
  if (!file.endsWith(".json"))
    throw new Error("config.trustStorePath must name the file of policies for firefox_policy, such as /etc/firefox/policies/policies.json.");
  return file;
}

/** The certificate, beside the policies. */
const files = directoryStore({ parts: (target) => [{ name: nameOf(target), holds: "certificate" }] });
const beside = (file: string) => (target: Target) => ({ ...target, config: { ...target.config, trustStorePath: dirname(file) } });

/**
 * The policy that Firefox installs certificates by. It keeps them in each profile that it has started with, so those are looked
 * through.
 */
const policy = pointedStore((target, host) => {
  const file = fileOf(target, host);
  const there = beside(file);
  const anchors: Store = {
    observe: (each, ...rest) => files.observe(there(each), ...rest),
    install: (each, ...rest) => files.install(there(each), ...rest),
    remove: (each, ...rest) => files.remove(there(each), ...rest),
  };
  const list = { file, names: ["policies", "Certificates", "Install"] as [string, ...string[]] };
  return { anchors, settings: [jsonEntry(list, join(dirname(file), nameOf(target)))] };
});

export const firefoxPolicy: Store = {
  ...policy,
  async findRemains(target, material, host) {
    const { certificates } = await policy.observe(target, material, host);
    const own = certificates.some((each) => fingerprintOf(each) === material.fingerprint) ? [`${dirname(fileOf(target, host))} holds it`] : [];
    return [...own, ...(await findInProfiles(material.fingerprint, host))];
  },
};

async function findInProfiles(fingerprint: string, host: Host) {
  const clauses: string[] = [];
  for (const root of await profileRoots(host))
    for (const name of (await readdir(root).catch(absent)) ?? []) {
      const database = await readSnapshot(join(root, name, "cert9.db")).catch(() => undefined); // not a profile
      const isThere = database && certificatesInDatabase(database).some(({ pem }) => fingerprintOf(pem) === fingerprint);
      if (isThere) clauses.push(`${foreign(join(root, name))} holds it, where Firefox keeps what a policy has installed; delete it there with certutil -D`);
    }
  return clauses;
}
