import type { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import type { MaterialType } from "#modules/fleet/trust-stores/rules/catalogue";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import type { Signer } from "#x509/signing-request";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import type { User } from "./host/program";
import type { Journal } from "./transaction/journal";
import type { Transaction } from "./transaction/transaction";

/** One assignment's place on this host. */
export type Target = {
  assignmentId: string;
  storeType: TrustStoreType;
  materialType: MaterialType;
  /** The entry's name: the config's alias, or one made from the assignment's id. */
  alias: string;
  config: AssignmentConfig;
};

/** The mode that the config demands of a file with a private key. */
export const keyModeOf = ({ config: { keyPermissionMode } }: Target) => (keyPermissionMode === undefined ? undefined : Number.parseInt(keyPermissionMode, 8));

/** The desired content, in PEM; the chain begins with the certificate's own issuer and may end with the root. */
export type Material = { certificate: string; fingerprint: string; chain: string[]; privateKey: string | null };

type Observation = {
  /** The certificates read from the store at the target, as PEM, the assigned one first; empty where it holds nothing. */
  certificates: string[];
  /** Each thing that is not as desired, as a clause: "tls.key has mode 0644". None: nothing is to be done. */
  differences: string[];
  /** True when another owner has put them there. */
  isForeign?: boolean;
};

/** Things of the agent at places that this release does not use, by their names in the record. */
export type Misplaced = { names: string[]; remove: (transaction: Transaction) => Promise<unknown> };

/** The file of a private key: whose it is to be, where that is not to be its directory's. */
type KeyFile = { path: string; mode: number; owner: Partial<User> };

/** A kind of trust store. The first three throw an Error in words where they cannot. */
export type Store = {
  /** Reads the store itself; a tool's exit code proves nothing. Changes nothing. */
  observe(target: Target, material: Material, host: Host): Promise<Observation>;
  /** Makes the store hold the material at the target. Every change goes through `transaction`, which can roll it back. */
  install(target: Target, material: Material, transaction: Transaction): Promise<void>;
  /**
   * Removes only what `install` put at the target; `certificate` is the one last verified there. Returns true where another
   * owner's file is in the place now.
   */
  remove(target: Target, transaction: Transaction, certificate?: string): Promise<unknown>;
  /**
   * Returns where the store's reader would still find the certificate, as clauses ("corp.crt holds it"). Without this function,
   * `observe` reads all that the reader reads.
   */
  findRemains?(target: Target, material: Material, host: Host): Promise<string[]>;
  /**
   * Finds what an earlier release put elsewhere for the same target, so that it can be taken away once this one has put it in
   * its place.
   */
  misplaced?(target: Target, ownership: Journal["ownership"], host: Host): Promise<Misplaced>;
  /** Finds the file of the private key, alone or with its certificate. Without one, only the store's own tool puts it in. */
  keyFile?(target: Target, host: Host): Promise<KeyFile | undefined>;
  /** The private key that was made in the store and never leaves it. */
  keyInside?(target: Target, host: Host): Promise<Signer>;
  /** True when the store's reader drops a signal to reload while it reloads, so that it must be asked again. */
  dropsReloads?: boolean;
  /** The environment variable in which a reloadCommand finds the password that the config refers to. */
  passwordVariable?: string;
};

/** Returns whether it lies in the system's store, for a program that reads that one. */
export const isInSystemStore = ({ storeType, config: { preferOsStore, trustStorePath } }: Pick<Target, "storeType" | "config">, { system }: Host) =>
  preferOsStore === true || (trustStorePath === system.bundle && storeType !== "pem_ca_bundle");

/** A store that is one of several, by its target. */
export const storeBy = (storeFor: (target: Target) => Store): Store => ({
  observe: (target, ...rest) => storeFor(target).observe(target, ...rest),
  findRemains: (target, ...rest) => remainsIn(storeFor(target), target, ...rest),
  install: (target, ...rest) => storeFor(target).install(target, ...rest),
  remove: (target, ...rest) => storeFor(target).remove(target, ...rest),
  misplaced: (target, ...rest) => misplacedIn(storeFor(target), target, ...rest),
  keyFile: async (target, host) => storeFor(target).keyFile?.(target, host),
});

/** As `misplaced`, for any store. */
export const misplacedIn = async (store: Store, target: Target, ownership: Journal["ownership"], host: Host): Promise<Misplaced> =>
  (await store.misplaced?.(target, ownership, host)) ?? { names: [], remove: async () => {} };

/** As `findRemains`, for any store. */
export async function remainsIn(store: Store, target: Target, material: Material, host: Host): Promise<string[]> {
  if (store.findRemains) return store.findRemains(target, material, host);
  const { certificates } = await store.observe(target, material, host);
  return certificates.some((each) => fingerprintOf(each) === material.fingerprint) ? ["the store holds it"] : [];
}
