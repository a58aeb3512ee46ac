import type { Limit } from "./buckets";

/** The kinds of callers with a limit: known ones, and addresses from which others were refused. */
export const KINDS = ["user", "api-token", "agent", "ingest-key", "gateway", "address"] as const;
export type Kind = (typeof KINDS)[number];
type RateLimits = Record<Kind, Limit | undefined>;

/** Generous: a fleet's agent asks once a minute, a gateway speaks for everybody of an organization. */
const DEFAULTS: RateLimits = {
  user: { quota: 6_000, window: 60 },
  "api-token": { quota: 6_000, window: 60 },
  agent: { quota: 600, window: 60 },
  "ingest-key": { quota: 6_000, window: 60 },
  gateway: { quota: 60_000, window: 60 },
  address: { quota: 600, window: 60 },
};

const ENTRY = /^([a-z-]+)=(?:off|([1-9]\d{0,8})\/([1-9]\d{0,4}))$/;
const OFF = KINDS.map((kind) => `${kind}=off`).join();

/** Reads "off", or "user=6000/60,address=off": requests and seconds. What is not named keeps its default. */
export function readRateLimits(text = "") {
  const limits = { ...DEFAULTS };
  const unreadable: string[] = [];
  for (const entry of (text === "off" ? OFF : text).split(",").flatMap((each) => each.trim() || [])) {
    const [, name, quota, window] = ENTRY.exec(entry) ?? [];
    const kind = KINDS.find((each) => each === name);
    if (kind) limits[kind] = quota === undefined ? undefined : { quota: Number(quota), window: Number(window) };
    else unreadable.push(entry);
  }
  return { limits, unreadable };
}
