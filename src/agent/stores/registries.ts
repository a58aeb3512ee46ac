import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "../host/files";
import { foreign } from "../host/foreign";
import { certificatesIn, fingerprintOf } from "../host/pem";
import type { Material, Store, Target } from "../store";
import { directoryStore } from "./directory";
import { addToHosts, type Names, observeHosts, removeFromHosts } from "./hosts-toml";
import type { Layout, Part } from "./layout";

/** The directory of a registry, from which container tools read the anchors in *.crt and a client certificate in *.cert with its *.key. */
const registryStore = (particulars: Pick<Layout, "observe" | "refresh"> = {}): Store =>
  directoryStore({
    ...particulars,
    needsKey: true,
    findRemains,
    parts: (target) => (isClient(target) ? pair(target) : [{ name: anchorName(target), holds: "certificate" }]),
    check,
  });

/** Container tools read every file of the directory by its ending, whatever its name. */
async function findRemains(directory: string, target: Target, { fingerprint }: Material) {
  const ending = isClient(target) ? ".cert" : ".crt";
  const names = (await readdir(directory).catch(absent))?.filter((name) => name.endsWith(ending)) ?? [];
  const clauses: string[] = [];
  for (const name of names) {
    const [own] = certificatesIn((await readFile(join(directory, name), "utf8").catch(absent)) ?? "");
    if (own && fingerprintOf(own) === fingerprint) clauses.push(`${foreign(join(directory, name))} holds it`);
  }
  return clauses;
}

const isClient = ({ materialType }: Target) => materialType === "client_certificate";
const certificateName = ({ config }: Target) => config.certFileName ?? "client.cert";
const keyName = ({ config }: Target) => config.keyFileName ?? "client.key";

/** A name for a client certificate, such as the default, says nothing about an anchor. */
function anchorName({ config, alias }: Target) {
  return config.certFileName && !config.certFileName.endsWith(".cert") ? config.certFileName : `${alias}.crt`;
}

const pair = (target: Target): Part[] => [
  { name: certificateName(target), holds: "chain" },
  { name: keyName(target), holds: "key" },
];

function check(_directory: string, target: Target) {
  if (!isClient(target)) {
    if (!anchorName(target).endsWith(".crt")) throw new Error("config.certFileName must end in .crt: container tools read no other file as an anchor.");
    return;
  }
  const name = certificateName(target);
  if (!name.endsWith(".cert")) throw new Error("config.certFileName must end in .cert: container tools read no other file as a client certificate.");
  const expected = name.replace(/cert$/, "key");
  if (keyName(target) !== expected) throw new Error(`config.keyFileName must be ${expected}, where container tools look for the key of ${name}.`);
}

const namesOf = (target: Target): Names => (isClient(target) ? ["client", certificateName(target), keyName(target)] : ["ca", anchorName(target)]);

export const dockerRegistry = registryStore();
export const podmanRegistry = registryStore();
export const containerdRegistry = registryStore({
  observe: (directory, target) => observeHosts(directory, namesOf(target)),
  refresh: (directory, target, transaction, isRemoval) => (isRemoval ? removeFromHosts : addToHosts)(transaction, directory, namesOf(target)),
});
