import type { Keyring } from "./keyring";

/**
 * The kinds of stamped rows, with the level of stamps that brought each. A release with a new level trusts, of that level
 * alone, the rows that it finds at its first start.
 */
const LEVELS = {
  certificate: 1,
  "certificate status": 1,
  rollout: 1,
  policy: 1,
  assignment: 1,
  removal: 1,
  "certificate-request": 1,
  "host-challenge": 1,
  authority: 1,
  issuer: 1,
  member: 1,
  "api-token": 1,
  "platform-admin": 1,
  agent: 2,
  "agent-credential": 2,
  "join-token": 2,
  connection: 2,
  "http-answer": 2,
  "idempotency-key": 2,
} as const;

export type Kind = keyof typeof LEVELS;
export type Level = (typeof LEVELS)[Kind];
export const ALL_LEVELS: readonly Level[] = [1, 2];
export const levelOf = (kind: Kind): Level => LEVELS[kind];

/** The facts that a stamp proves: their kind, then texts, numbers, booleans and nulls, also in lists and records. */
export type Facts = readonly [purpose: Kind, ...facts: unknown[]];
/** Kinds that are stamped besides rows: none of them is ever trusted without a stamp. */
type Others = readonly [purpose: "stamping" | "backup", ...facts: unknown[]];

/** The stamp of a row; null where it was not written by a server that knows stamps. */
export type Stamp = Uint8Array | null;

/**
 * Stamps of this server: each proves that a holder of SECRETS_KEY ordered what a row says, so that who can only write to the database
 * orders nothing.
 */
export type Stamps = ReturnType<typeof createStamps>;

export function createStamps(keyring: Pick<Keyring, "stamp" | "isStampOf">) {
  let trusted: readonly Level[] = [];
  const isTrusting = (kind: Kind) => trusted.includes(levelOf(kind));
  return {
    /** Returns the stamp of these facts. */
    of: (facts: Facts | Others) => keyring.stamp(textOf(facts)),
    /** True where the server has stamped these facts; while it still trusts what it found of their level at an upgrade, true of any. */
    hold: (stamp: Stamp, facts: Facts) => isTrusting(facts[0]) || isStamped(stamp, facts),
    isStamped,
    isTrusting,
    /** Returns the levels of which it trusts what has no stamp. */
    trusted: () => trusted,
    /** Has it trust what has no stamp, or no more. */
    trust(levels: readonly Level[]) {
      trusted = levels;
    },
  };

  function isStamped(stamp: Stamp, facts: Facts | Others) {
    return stamp !== null && keyring.isStampOf(stamp, textOf(facts));
  }
}

/** One text for the same facts, whatever the order of a record's names: JSON, in which no two facts can look alike. */
const textOf = (facts: readonly unknown[]) =>
  JSON.stringify(facts, (_, value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value));

const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

/** A stamp within JSON that a statement reads. */
export const inJson = (stamp: Uint8Array) => `\\x${Buffer.from(stamp).toString("hex")}`;

/** A stamp that JSON of a statement holds in hexadecimal. */
export const fromHex = (stamp: string | null): Stamp => (stamp === null ? null : Buffer.from(stamp, "hex"));
