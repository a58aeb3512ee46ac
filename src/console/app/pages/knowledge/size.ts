const UNITS = ["B", "KB", "MB", "GB"];

/** Bytes for people: "18 KB". */
export function sizeOf(bytes: number) {
  const power = Math.min(Math.max(0, Math.floor(Math.log(bytes || 1) / Math.log(1_024))), UNITS.length - 1);
  const value = bytes / 1_024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}
