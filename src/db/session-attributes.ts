/** The parameters that Postgres reports of a session at its start, and when they change; a pooler in front of it may not. */
export type Reported = { in_hot_standby?: string; default_transaction_read_only?: string };

/** The values of target_session_attrs, as libpq knows them, and which sessions each takes. */
const WANTED = {
  any: () => true,
  "read-write": (session) => !isReadOnly(session),
  "read-only": (session) => isReadOnly(session),
  primary: (session) => !isStandby(session),
  standby: (session) => isStandby(session),
  "prefer-standby": (session) => isStandby(session),
} satisfies Record<string, (session: Reported) => boolean>;

export type SessionAttributes = keyof typeof WANTED;
export const SESSION_ATTRIBUTES = Object.keys(WANTED) as SessionAttributes[];

const isStandby = ({ in_hot_standby }: Reported) => in_hot_standby === "on";
/** True for a session that takes no writes. */
export const isReadOnly = (session: Reported) => isStandby(session) || session.default_transaction_read_only === "on";

/** True where such a session is what the connection string asks for. */
export const isWanted = (attributes: SessionAttributes, session: Reported) => WANTED[attributes](session);

/** False where the connection string asks for a session that takes no writes. */
export const mayWrite = (attributes: SessionAttributes) => attributes === "any" || attributes === "read-write" || attributes === "primary";

/** Says of a session that is not wanted which it is. */
export const describeSession = (session: Reported) => {
  if (isStandby(session)) return "it is a standby";
  return isReadOnly(session) ? "it is closed to writes (default_transaction_read_only)" : "it takes writes";
};
