const [HOUR, DAY] = [3_600, 86_400];

/** How long the charts reach back and how long their steps are, in seconds. */
export const RANGES = {
  "6h": { label: "6 hours", length: 6 * HOUR, step: 300 },
  "24h": { label: "24 hours", length: DAY, step: 900 },
  "7d": { label: "7 days", length: 7 * DAY, step: HOUR },
  "30d": { label: "30 days", length: 30 * DAY, step: 6 * HOUR },
  "90d": { label: "90 days", length: 90 * DAY, step: DAY },
  "365d": { label: "A year", length: 365 * DAY, step: 2 * DAY },
} as const;

export type RangeKey = keyof typeof RANGES;

export const isRange = (text: string | null): text is RangeKey => text !== null && Object.hasOwn(RANGES, text);

/** The query for a range that ends now. */
export function queryOf(range: RangeKey, now: Date) {
  const { length, step } = RANGES[range];
  return { from: new Date(now.getTime() - length * 1_000).toISOString(), to: now.toISOString(), step };
}
