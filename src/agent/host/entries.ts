import { fingerprintOf } from "./pem";

/** One entry of a store that only a tool can read: its name, what the tool says it is, and its certificates, its own first. */
export type Entry = { name: string; kind: string; certificates: string[] };
/** The entries that were read of a store, for the digest of this process; `stamp` is for other processes, and holds no password. */
type Known = { digest?: string; stamp?: string; entries: Entry[] };
/** The entries last read, by store. */
export type Entries = Map<string, Known>;

/**
 * Reads a store's entries with its tool, unless `digest` or the stamp is that of an earlier read. `stampOf` is asked again
 * afterwards, so a store that changes during the read has no stamp.
 */
export async function readOnce(
  { entries: cache }: { entries: Entries },
  store: string,
  digest: string,
  read: () => Promise<Entry[]>,
  stampOf?: () => Promise<string | undefined>,
) {
  const known = cache.get(store);
  if (known?.digest === digest) return known.entries;
  const stamp = await stampOf?.();
  const isKept = known?.stamp !== undefined && known.stamp === stamp;
  const entries = isKept ? known.entries : await read();
  const isStable = stamp !== undefined && (isKept || stamp === (await stampOf?.()));
  cache.set(store, { digest, entries, ...(isStable && { stamp }) });
  return entries;
}

export const holds = ({ certificates }: Entry, fingerprint: string) => certificates.some((each) => fingerprintOf(each) === fingerprint);
