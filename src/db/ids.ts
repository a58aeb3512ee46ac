/** Bounds below and above every id: where a list begins that has no cursor yet. */
export const MIN_UUID = "00000000-0000-0000-0000-000000000000";
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
