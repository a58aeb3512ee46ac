/** Bounds below and above every id: where a list begins that has no cursor yet. */
export const MIN_UUID = "00000000-0000-0000-0000-000000000000";
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The lowest UUIDv7 of a millisecond. */
export function firstIdAt(milliseconds: number) {
  const time = Math.min(Math.max(Math.floor(milliseconds), 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
