/** How much a nonce, and a signature's time, may be off: agents go by this server's own clock, which they read off its answers. */
export const TOLERANCE_MS = 60_000;
/** Agents that are remembered; the one that asked longest ago is forgotten first. */
const MAX_KEYS = 200_000;

/** The milliseconds since 1970 that a UUIDv7 begins with. */
export const timeOf = (nonce: string) => Number.parseInt(nonce.slice(0, 8) + nonce.slice(9, 13), 16);

export type Nonces = ReturnType<typeof createNonces>;

/**
 * The newest nonce of each key in this process. Nonces are UUIDv7, which grow with time, so one value finds every replay here;
 * a desired state with private keys also asks the database.
 */
export function createNonces() {
  const newest = new Map<string, string>();

  /**
   * Notes the nonce. Returns false where this key has used it, or a later one, before; one of the future is of a clock that was
   * set right since.
   */
  function use(key: string, nonce: string, now: Date) {
    const known = newest.get(key);
    if (known !== undefined && nonce <= known && timeOf(known) <= now.getTime() + TOLERANCE_MS) return false;
    newest.delete(key);
    newest.set(key, nonce);
    const [oldest] = newest.keys();
    if (newest.size > MAX_KEYS && oldest !== undefined) newest.delete(oldest);
    return true;
  }

  return { use };
}
