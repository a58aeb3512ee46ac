import { isDatabaseAway } from "#db/failures";

/**
 * Returns a function that gives the last reading and its age, and reads again after `everyMs`. A reading of more than
 * `patienceMs` is for a later caller: scrapes never wait for a busy database.
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
