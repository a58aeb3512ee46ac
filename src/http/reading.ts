import { isDatabaseAway } from "#db/failures";

/**
 * Returns what tells what was last read of the database, and how long ago; read again once it is older than `everyMs`. What takes longer
 * than `patienceMs` is told to a later caller, also where it fails: a scrape is to tell of busy connections, too. While the database is
 * away, what was read grows older.
 */
export function createReading<Read>(read: () => Promise<Read>, { everyMs, patienceMs }: { everyMs: number; patienceMs: number }) {
  let last: { value: Read; at: number } | undefined;
  let reading: Promise<void> | undefined;

  async function readAgain() {
    try {
      last = { value: await read(), at: performance.now() };
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
    }
  }

  async function patiently() {
    reading ??= readAgain();
    let isLate = false;
    try {
      isLate = await Promise.race([reading.then(() => false), Bun.sleep(patienceMs).then(() => true)]);
    } finally {
      if (!isLate) reading = undefined;
    }
  }

  return async () => {
    const isOld = !last || performance.now() - last.at > everyMs;
    if (isOld || reading) await patiently();
    return last && { value: last.value, ageMs: performance.now() - last.at };
  };
}
