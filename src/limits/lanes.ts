import { Refusal } from "#http/errors";

/**
 * The work, in words; how many run at once in all, and of one organization; how many of one may wait, in all, and for how many
 * milliseconds.
 */
export type LaneLimits = { what: string; total: number; each: number; waitingEach: number; waitingTotal: number; patience: number };

/** Of reads, a quarter of the connections in all, and one of an organization: two are the cores of a small machine. */
export const lanesFor = (connections: number): LaneLimits => ({
  what: "expensive reads",
  total: Math.max(1, Math.floor(connections / 4)),
  each: 1,
  waitingEach: 64,
  waitingTotal: 1_024,
  patience: 4_000,
});

/** RSA keys: each takes a core for a second or more. */
export const KEY_LANES: LaneLimits = { what: "new RSA keys", total: 2, each: 1, waitingEach: 8, waitingTotal: 256, patience: 2_000 };

/** Calls to others that a request waits for, such as the test of a connection: each may take four seconds. */
export const CALL_LANES: LaneLimits = { what: "tests of connections and issuers", total: 32, each: 4, waitingEach: 8, waitingTotal: 64, patience: 500 };

type Waiting = { start: () => void };
/** `signal` ends the wait. A background job is patient: it waits until then, also behind a full queue. */
export type Waits = { signal?: AbortSignal; isPatient?: boolean };
type Lane = { running: number; queue: Waiting[] };

export type Lanes = ReturnType<typeof createLanes>;

/**
 * Limits how many expensive tasks run, in total and for each organization; the others wait in turn, organization by
 * organization. A full queue, or too long a wait, is a 429.
 */
export function createLanes({ what, total, each, waitingEach, waitingTotal, patience }: LaneLimits) {
  /** In the order of turns: an organization that was served goes to the end. */
  const lanes = new Map<string, Lane>();
  let running = 0;
  let waiting = 0;

  const hasTurn = ({ running, queue }: Lane) => queue.length > 0 && running < each;

  function moveToEnd(organizationId: string, lane: Lane) {
    lanes.delete(organizationId);
    lanes.set(organizationId, lane);
  }

  function startNext() {
    while (running < total) {
      const [turn] = lanes
        .entries()
        .filter(([, lane]) => hasTurn(lane))
        .take(1);
      if (!turn) return;
      moveToEnd(...turn);
      turn[1].queue.shift()?.start();
    }
  }

  function begin(lane: Lane) {
    running++;
    lane.running++;
  }

  function end(organizationId: string, lane: Lane) {
    running--;
    lane.running--;
    moveToEnd(organizationId, lane);
    startNext();
  }

  const tooMany = () =>
    new Refusal(429, `Too many ${what} of this organization are under way. Try again in a moment.`, { "retry-after": "1" }, `too many ${what}`);

  function wait(lane: Lane, { signal, isPatient }: Waits) {
    signal?.throwIfAborted();
    if (!isPatient && (lane.queue.length >= waitingEach || waiting >= waitingTotal)) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      waiting--;
    };
    const withdraw = (reason: unknown) => {
      leave();
      lane.queue.splice(lane.queue.indexOf(entry), 1);
      reject(reason);
    };
    const giveUp = () => withdraw(signal?.reason);
    const entry: Waiting = {
      start() {
        leave();
        begin(lane);
        resolve();
      },
    };
    const timer = isPatient ? undefined : setTimeout(() => withdraw(tooMany()), patience);
    signal?.addEventListener("abort", giveUp);
    waiting++;
    lane.queue.push(entry);
    return promise;
  }

  /** Runs `work` when it is the organization's turn. */
  async function run<Result>(organizationId: string, work: () => Promise<Result>, waits: Waits = {}): Promise<Result> {
    const lane = lanes.get(organizationId) ?? { running: 0, queue: [] };
    lanes.set(organizationId, lane);
    try {
      if (running < total && lane.running < each) begin(lane);
      else await wait(lane, waits);
      try {
        return await work();
      } finally {
        end(organizationId, lane);
      }
    } finally {
      if (lane.running === 0 && lane.queue.length === 0) lanes.delete(organizationId);
    }
  }

  return { run, organizations: () => lanes.size, waiting: () => waiting };
}
