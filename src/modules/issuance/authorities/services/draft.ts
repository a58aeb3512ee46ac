import type { KeyObject } from "node:crypto";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { NameConstraints } from "../rules/names";
import type { Profile } from "../rules/profiles";
import { type KeyAlgorithm, sealKey } from "./keys";

/** A new authority as it was asked for. */
export type Plan = {
  id: string;
  name: string;
  algorithm: KeyAlgorithm;
  subject: Uint8Array;
  lifetimeDays: number | undefined;
  pathLength: number | undefined;
  constraints: NameConstraints | undefined;
  profiles: Profile[];
  publicUrl: string;
};
/** The same with its key. */
export type Draft = Plan & { key: KeyObject; publicKey: Uint8Array };

/** Returns the columns that all kinds of authorities share, with the key sealed. */
export function rowOf(
  keyring: IssuingDeps["config"]["keyring"],
  organizationId: string,
  { id, name, key, algorithm, publicKey, profiles, publicUrl }: Pick<Draft, "id" | "name" | "key" | "algorithm" | "publicKey" | "profiles" | "publicUrl">,
) {
  const spki = Buffer.from(publicKey).toString("base64");
  return {
    id,
    name,
    keyAlgorithm: algorithm,
    publicKey: spki,
    sealedPrivateKey: sealKey(keyring, key, { organizationId, id, publicKey: spki }),
    profiles,
    publicUrl,
  };
}
