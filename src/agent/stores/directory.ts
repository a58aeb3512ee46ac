import { dirname, resolve } from "node:path";
import { findEntry, readSnapshot, type Snapshot, textOf } from "../host/files";
import { foreign } from "../host/foreign";
import { type Host, pathOn } from "../host/host";
import { certificatesIn, essenceOf, isAuthority, isForeignKey, presented, privateKeyIn } from "../host/pem";
import { isKeyOf } from "../host/private-key";
import type { User } from "../host/program";
import { keyModeOf, type Material, type Misplaced, type Store, type Target } from "../store";
import type { Journal } from "../transaction/journal";
import type { Transaction } from "../transaction/transaction";
import type { Layout, Part } from "./layout";

type File = Part & { path: string; found: Snapshot | undefined; text: string };

const CERTIFICATE_MODE = 0o644;
const KEY_MODE = 0o600;

export function directoryStore(layout: Layout): Store {
  const { defaultDirectory, mustExist, parts, takesOver = false, needsKey = false, passwordVariable, ownerOf, check, observe, findRemains, refresh } = layout;

  async function directoryOf(target: Target, host: Host) {
    const { config, storeType } = target;
    const given = config.trustStorePath ?? (await defaultDirectory?.(host, target));
    if (given === undefined) throw new Error(`config.trustStorePath is required for ${storeType}.`);
    return pathOn(host, given, "trustStorePath");
  }

  const placesIn = (directory: string, target: Target, host: Host) => parts(target, host).map(({ name }) => resolve(directory, name));

  async function expectDirectory(directory: string) {
    if (mustExist && !(await findEntry(directory)))
      throw new Error(`${directory} does not exist on this host. Create it, or name the directory that the server reads.`);
  }

  async function takeAway(paths: string[], directory: string, target: Target, transaction: Transaction) {
    const isGivenBack = await transaction.restore(...paths);
    await refresh?.(directory, target, transaction, true);
    for (const each of new Set([directory, ...paths.map(dirname)])) await transaction.removeEmptyDirectories(each);
    return isGivenBack;
  }

  /** The files of ours that are none of the target's. */
  async function misplaced(target: Target, ownership: Journal["ownership"], host: Host): Promise<Misplaced> {
    const directory = await directoryOf(target, host);
    const places = placesIn(directory, target, host);
    const names = Object.keys(ownership).filter((name) => ownership[name]?.digest !== undefined && !places.includes(name));
    return { names, remove: (transaction) => takeAway(names, directory, target, transaction) };
  }

  return {
    ...(passwordVariable && { passwordVariable }),
    ...(layout.dropsReloads && { dropsReloads: true }),
    ...(layout.hasMoved && { misplaced }),
    ...(findRemains && { findRemains: async (target, material, host) => findRemains(await directoryOf(target, host), target, material, host) }),

    async observe(target, material, host) {
      const directory = await directoryOf(target, host);
      await check?.(directory, target, host);
      const files = await readFiles(directory, parts(target, host));
      const owner = await ownerOf?.(target, host);
      const differences: string[] = [];
      for (const file of files) {
        const fault = faultOf(file, target, material) ?? faultOfOwner(file, owner, material) ?? (await faultOfKey(file, material, needsKey));
        if (fault) differences.push(`${file.name} ${fault}`);
      }
      if (differences.length === 0 && observe) differences.push(...(await observe(directory, target, material, host)));
      return { certificates: files.flatMap(({ text }) => certificatesIn(text)), differences };
    },

    async install(target, material, transaction) {
      const directory = await directoryOf(target, transaction.host);
      await expectDirectory(directory);
      const files = await readFiles(directory, parts(target, transaction.host));
      for (const file of files) {
        const fault = await faultOfKey(file, material, needsKey);
        if (fault) throw new Error(`${file.path} ${fault}. Include the private key in the assignment, or put the right one there first.`);
      }
      refuseAuthorities(files, target, transaction);
      const owner = await ownerOf?.(target, transaction.host);
      for (const file of files.filter((each) => !isLeft(each, material))) {
        const writing = { mode: modeFor(file, target, material), takesOver: takesOver && isServer(target) };
        const whose = keepsKey(file, material) ? { keeps: file.found } : { owner };
        await transaction.writeOwned(file.path, demandContent(file, material), { ...writing, ...whose });
      }
      await refresh?.(directory, target, transaction, false);
    },

    async keyFile(target, host) {
      const directory = await directoryOf(target, host);
      await check?.(directory, target, host);
      await expectDirectory(directory);
      const part = parts(target, host).find(holdsKey);
      if (!part) throw new Error("The config names no file for the private key: name config.keyFileName or config.combinedFileName.");
      const path = resolve(directory, part.name);
      const found = await readSnapshot(path);
      return { path, mode: modeOf(part, target), owner: { ...(found && { uid: found.uid, gid: found.gid }), ...(await ownerOf?.(target, host)) } };
    },

    async remove(target, transaction) {
      const directory = await directoryOf(target, transaction.host);
      return takeAway(placesIn(directory, target, transaction.host), directory, target, transaction);
    },
  };
}

/**
 * Of authorities whom a reader may trust by this file: what is presented never takes their place, but that of a certificate
 * with its key.
 */
function refuseAuthorities(files: File[], target: Target, transaction: Transaction) {
  if (!isServer(target)) return;
  const keys = files.flatMap(({ text }) => privateKeyIn(text) ?? []);
  const isOthers = ({ path, holds, text }: File) => {
    const [first, ...more] = holds === "key" || transaction.owns(path) ? [] : certificatesIn(text);
    return first !== undefined && [first, ...more].every(isAuthority) && !(holds !== "issuers" && keys.some((key) => isKeyOf(first, key)));
  };
  const found = files.find(isOthers);
  if (found) throw new Error(`${found.path} holds authorities, whose place a server's own certificate does not take. Choose another file name.`);
}

/** A file name that the store's defaults or the assignment give. */
export function nameOf({ config, storeType }: Target, field: "certFileName" | "keyFileName") {
  const name = config[field];
  if (name === undefined) throw new Error(`config.${field} is required for ${storeType}.`);
  return name;
}

async function readFiles(directory: string, parts: Part[]) {
  const files: File[] = [];
  for (const part of parts) {
    const path = resolve(directory, part.name);
    const found = await readSnapshot(path);
    files.push({ ...part, path, found, text: textOf(found) });
  }
  return files;
}

function faultOf(file: File, target: Target, material: Material) {
  if (isLeft(file, material)) return;
  if (!file.found) return "is missing";
  if (essenceOf(file.text) !== essenceOf(contentOf(file, material))) return "holds something else";
  if (holdsKey(file) && file.found.mode !== modeFor(file, target, material)) return `has mode ${file.found.mode.toString(8)}`;
}

function faultOfOwner(file: File, owner: Partial<User> | undefined, material: Material) {
  if (!owner || !file.found || isLeft(file, material) || keepsKey(file, material)) return;
  const { uid, gid } = { ...file.found, ...owner };
  if (file.found.uid !== uid || file.found.gid !== gid)
    return `belongs to ${foreign(`${file.found.uid}:${file.found.gid}`)}, not to ${foreign(`${uid}:${gid}`)}`;
}

/** Why the key that was left to the operator cannot serve the certificate. */
async function faultOfKey({ path, holds, found, text }: File, { certificate, privateKey }: Material, needsKey: boolean) {
  if (privateKey !== null || !holds.endsWith("key")) return;
  const key = privateKeyIn(text) ?? (holds === "key" ? undefined : privateKeyIn(textOf(await readSnapshot(`${path}.key`))));
  if (key) return isForeignKey(certificate, key) ? "has the private key of another certificate" : undefined;
  if (needsKey || holds === "chain and key" || (found && holds === "key")) return "has no private key";
  if (isAuthority(certificate)) return "has no private key for this certificate of an authority";
}

const isServer = ({ materialType }: Target) => materialType === "server_certificate";
const holdsKey = ({ holds }: Part) => holds === "key" || holds === "chain and key";
/** Without a private key, the one that the operator put there is left to the operator. */
const isLeft = ({ holds }: Part, { privateKey }: Material) => privateKey === null && holds === "key";
/**
 * Returns true where the file holds a key that the assignment does not bring: whatever the config says, it keeps its owner, and
 * is opened to no one else.
 */
const keepsKey = ({ holds, text }: File, { privateKey }: Material) => privateKey === null && holds === "chain and key" && privateKeyIn(text) !== undefined;
const modeFor = (file: File, target: Target, material: Material) =>
  file.found && keepsKey(file, material) ? file.found.mode & modeOf(file, target) : modeOf(file, target);
const modeOf = (part: Part, target: Target) => (holdsKey(part) ? (keyModeOf(target) ?? KEY_MODE) : CERTIFICATE_MODE);

function contentOf({ holds, text }: File, { certificate, chain, privateKey }: Material) {
  if (holds === "certificate") return lined(certificate);
  const whole = presented(certificate, chain).join("");
  const key = lined(privateKey ?? privateKeyIn(text) ?? "");
  return { chain: whole, issuers: presented(certificate, chain).slice(1).join(""), key, "chain and key": whole + key }[holds];
}

function demandContent(file: File, material: Material) {
  const content = contentOf(file, material);
  if (content === "") throw new Error(`The certificate comes without intermediates, so ${file.name} would be empty. Let the config name no such file.`);
  return content;
}

const lined = (pem: string) => (pem === "" ? "" : `${pem.trimEnd()}\n`);
