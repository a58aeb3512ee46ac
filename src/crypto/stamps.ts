import type { Keyring } from "./keyring";

/** What a stamp proves: texts, numbers, booleans and nulls, in lists and records of such. The first says of what it is. */
export type Facts = readonly [purpose: string, ...facts: unknown[]];

/** What a row carries: the bytes, or nothing where no server that knows stamps wrote it. */
export type Stamp = Uint8Array | null;

/**
 * Stamps of this server: each proves that a holder of SECRETS_KEY ordered what a row says, so that who can only write to the database
 * orders nothing.
 */
export type Stamps = ReturnType<typeof createStamps>;

export function createStamps(keyring: Pick<Keyring, "stamp" | "isStampOf">) {
  let isTrusting = false;
  return {
    /** Returns the stamp of these facts. */
    of: (facts: Facts) => keyring.stamp(textOf(facts)),
    /** True where the server has stamped these facts; while it still trusts what it found at an upgrade, true of any. */
    hold: (stamp: Stamp, facts: Facts) => isTrusting || isStamped(stamp, facts),
    isStamped,
    isTrusting: () => isTrusting,
    /** Has it trust what has no stamp, or no more. */
    trust(isSo: boolean) {
      isTrusting = isSo;
    },
  };

  function isStamped(stamp: Stamp, facts: Facts) {
    return stamp !== null && keyring.isStampOf(stamp, textOf(facts));
  }
}

/** One text for the same facts, whatever the order of a record's names: JSON, in which no two facts can look alike. */
const textOf = (facts: Facts) => JSON.stringify(facts, (_, value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value));

const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

/** A stamp within JSON that a statement reads. */
export const inJson = (stamp: Uint8Array) => `\\x${Buffer.from(stamp).toString("hex")}`;
