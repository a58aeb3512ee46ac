/** The kinds of actor in an audit trail; `anonymous` is a caller that was refused before it was known, or the holder of a signed link. */
export const ACTOR_TYPES = ["user", "api-token", "gateway", "agent", "join-token", "ingest-key", "worker", "server", "command-line", "anonymous"] as const;

/** The wanted events: `from` inclusive, `to` exclusive, `actor` an id or a type. */
export type EventFilter = { action?: string; actor?: { id: string } | { type: string }; targetId?: string; from?: string; to?: string };
