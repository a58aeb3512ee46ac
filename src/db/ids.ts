/** The pattern of a UUID in either case. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Bounds below and above every id: where a list begins that has no cursor yet. */
export const MIN_UUID = "00000000-0000-0000-0000-000000000000";
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export const isUuid = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Returns the id, or for text that is no UUID the nil UUID (RFC 9562, 5.9), which no row has. */
export const uuidOrNil = (id: string) => (isUuid(id) ? id : MIN_UUID);
