/** Codes of SQLSTATE (the first two characters are its class), of the driver and of the operating system. */
const AWAY = new RegExp(
  `^(${[
    "CONNECT(ION)?_\\w+|E(CONNREFUSED|CONNRESET|PIPE|NOENT|HOSTUNREACH|NETUNREACH|NOTFOUND|TIMEDOUT|AI_AGAIN)",
    "08\\w{3}", // connection
    "25006|25P0[34]", // no writes here, as in a failover; a transaction that stood still for too long
    "4000[13]|40P01", // serialization, unknown completion, deadlock
    "53300", // too many connections
    "55006|55P03", // object in use, lock not available
    "57\\w{3}", // operator intervention: statement timeout, shutdown, start
    "72000", // snapshot too old
  ].join("|")})$`,
);

/** Disk, memory or another resource is used up (class 53), or it fails (58000, 58030). */
const EXHAUSTED = /^(53\w{3}|58000|58030|ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE|ENOMEM)$/;

/** The session takes no writes: a standby, or a database that is closed to them. */
export const READ_ONLY = "25006";

/** The server is not let in any more: its password, its role or its database was changed while it ran. */
const LOCKED_OUT = /^(28\w{3}|3D000)$/;

/** An error with a code of the driver's kind: CONNECTION_ and CONNECT_ are the database away. */
export const failure = (code: string, message: string) => Object.assign(new Error(message), { code });

const hasCode = (error: unknown, pattern: RegExp): boolean => {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && pattern.test(code)) || hasCode(error.cause, pattern);
};

/** True when the database was away, in the middle of a failover or too slow, so that the same request may succeed later. */
export const isDatabaseAway = (error: unknown) => hasCode(error, AWAY);

/**
 * Returns why the database could not do a request that is not at fault; undefined for a fault of the program, such as a wrong statement.
 */
export function unavailability(error: unknown) {
  if (isDatabaseAway(error)) return "away";
  if (hasCode(error, EXHAUSTED)) return "exhausted";
  return hasCode(error, LOCKED_OUT) ? "locked out" : undefined;
}
