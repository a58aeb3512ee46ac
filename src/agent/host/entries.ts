import { fingerprintOf } from "./pem";

/** One entry of a store that only a tool can read: its name, what the tool says it is, and its certificates, its own first. */
export type Entry = { name: string; kind: string; certificates: string[] };
/** What was read last, by store. */
export type Entries = Map<string, { digest: string; entries: Entry[] }>;

/** Reads a store's entries with its tool, once for as long as what `digest` stands for stays the same. */
export async function readOnce({ entries: cache }: { entries: Entries }, store: string, digest: string, read: () => Promise<Entry[]>) {
  const known = cache.get(store);
  if (known?.digest === digest) return known.entries;
  const entries = await read();
  cache.set(store, { digest, entries });
  return entries;
}

export const holds = ({ certificates }: Entry, fingerprint: string) => certificates.some((each) => fingerprintOf(each) === fingerprint);
