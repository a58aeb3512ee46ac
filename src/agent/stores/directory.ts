import { join } from "node:path";
import type { Change } from "../change";
import { digestOf, readSnapshot, type Snapshot, textOf } from "../files";
import { type Host, pathOn } from "../host";
import { certificatesIn, fingerprintOf, isSelfSigned } from "../pem";
import type { Material, Store, Target } from "../store";

/** One file of a store, and what it holds: the certificate alone, followed by its intermediates, the private key, or all of that. */
export type Part = { name: string; holds: "certificate" | "chain" | "key" | "chain and key" };

/** A store that is a directory of files, and what is particular to it. */
export type Layout = {
  /** Where the directory is when the config does not say. */
  defaultDirectory?: (host: Host) => string | Promise<string>;
  parts: (target: Target) => Part[];
  /** Whether a server may have started with a file that the agent now takes over, and gives back on removal. */
  takesOver?: boolean;
  /** Throws where the config does not suit the store. */
  check?: (directory: string, target: Target, host: Host) => void;
  /** What else must hold, once the files are right: the faults, as in an Observation. */
  observe?: (directory: string, target: Target, material: Material, host: Host) => Promise<string[]>;
  /** Makes the store's reader take note of what was written or removed. */
  refresh?: (directory: string, target: Target, change: Change, isRemoval: boolean) => Promise<void>;
};

const CERTIFICATE_MODE = 0o644;
const KEY_MODE = 0o600;

export function directoryStore({ defaultDirectory, parts, takesOver = false, check, observe, refresh }: Layout): Store {
  async function directoryOf(target: Target, host: Host) {
    const { config, storeType } = target;
    const given = config.trustStorePath ?? (await defaultDirectory?.(host));
    if (given === undefined) throw new Error(`config.trustStorePath is required for ${storeType}.`);
    const directory = pathOn(host, given, "trustStorePath");
    check?.(directory, target, host);
    return directory;
  }

  return {
    async observe(target, material, host) {
      const directory = await directoryOf(target, host);
      const faults: string[] = [];
      const certificates: string[] = [];
      for (const part of partsFor(parts(target), material)) {
        const found = await readSnapshot(join(directory, part.name));
        if (part.holds !== "key") certificates.push(...certificatesIn(textOf(found)));
        const fault = faultOf(found, textOf(found), contentOf(part, material), holdsKey(part) ? modeOf(part, target) : undefined);
        if (fault) faults.push(`${part.name} ${fault}`);
      }
      if (faults.length === 0 && observe) faults.push(...(await observe(directory, target, material, host)));
      return { certificates, faults };
    },

    async install(target, material, change) {
      const directory = await directoryOf(target, change.host);
      for (const part of partsFor(parts(target), material))
        await change.own(join(directory, part.name), contentOf(part, material), { mode: modeOf(part, target), takesOver });
      await refresh?.(directory, target, change, false);
    },

    async remove(target, change) {
      const directory = await directoryOf(target, change.host);
      for (const { name } of parts(target)) await change.release(join(directory, name));
      await refresh?.(directory, target, change, true);
    },
  };
}

function faultOf(found: Snapshot | undefined, text: string, wanted: string, mode: number | undefined) {
  if (!found) return "is missing";
  if (essenceOf(text) !== essenceOf(wanted)) return "holds something else";
  if (mode !== undefined && found.mode !== mode) return `has mode ${found.mode.toString(8)}`;
}

const holdsKey = ({ holds }: Part) => holds === "key" || holds === "chain and key";
const modeOf = (part: Part, { config }: Target) =>
  holdsKey(part) ? (config.keyPermissionMode ? Number.parseInt(config.keyPermissionMode, 8) : KEY_MODE) : CERTIFICATE_MODE;

/** Without a private key, the one that the operator put there is left to the operator. */
const partsFor = (parts: Part[], { privateKey }: Material) => (privateKey === null ? parts.filter(({ holds }) => holds !== "key") : parts);

function contentOf({ holds }: Part, { certificate, chain, privateKey }: Material) {
  const key = privateKey ?? "";
  if (holds === "key") return key;
  if (holds === "certificate") return `${certificate.trimEnd()}\n`;
  const presented = [certificate, ...chain.filter((each) => !isSelfSigned(each))].map((each) => `${each.trimEnd()}\n`).join("");
  return holds === "chain" ? presented : presented + key;
}

/** The certificates in their order, and the keys, however the text around them is laid out. */
function essenceOf(text: string) {
  const keys = text.match(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END/g) ?? [];
  return [...certificatesIn(text).map(fingerprintOf), ...keys.map((key) => digestOf(key.replace(/\s/g, "")))].join();
}
