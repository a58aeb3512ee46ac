import type { Host } from "../host/host";
import type { User } from "../host/program";
import type { Material, Target } from "../store";
import type { Transaction } from "../transaction/transaction";

/**
 * One file of a store, by its name or path, and its content. With certificate, intermediates and key in one file, a key that
 * the operator keeps may also lie beside it, in `<name>.key`.
 */
export type Part = { name: string; holds: "certificate" | "chain" | "issuers" | "key" | "chain and key" };

/** A store that is a directory of files, and what is particular to it. */
export type Layout = {
  /** The directory when the config names none. */
  defaultDirectory?: (host: Host, target: Target) => string | Promise<string>;
  /** True where the directory must be there already: the one that a running server reads. */
  mustExist?: boolean;
  parts: (target: Target, host: Host) => Part[];
  /** True where an earlier release gave its files other names, or another directory. */
  hasMoved?: boolean;
  /** True where a server may have started with a file that the agent now takes over, and gives back on removal. */
  takesOver?: boolean;
  /** True where the store's reader fails without a key in its place. */
  needsKey?: boolean;
  passwordVariable?: string;
  /** As in a Store. */
  dropsReloads?: boolean;
  /** To whom the files are to belong; to whom the ones before them did, else their directory, where it does not say. */
  ownerOf?: (target: Target, host: Host) => Promise<Partial<User>>;
  /** Throws where the config does not suit the store. */
  check?: (directory: string, target: Target, host: Host) => void | Promise<void>;
  /** Returns the faults of what else must hold, once the files are right, as in an Observation. */
  observe?: (directory: string, target: Target, material: Material, host: Host) => Promise<string[]>;
  /**
   * Returns the other places in which the reader would find the certificate, as in a Store. Without it, it reads the files of
   * the target alone.
   */
  findRemains?: (directory: string, target: Target, material: Material, host: Host) => Promise<string[]>;
  /** Makes the store's reader take note of what was written or removed. */
  refresh?: (directory: string, target: Target, transaction: Transaction, isRemoval: boolean) => Promise<void>;
};
