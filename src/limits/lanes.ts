import { Refusal } from "#http/errors";

/** How many run at once in all, and of one organization; how many of one may wait, in all, and for how many milliseconds. */
export type LaneLimits = { total: number; each: number; waitingEach: number; waitingTotal: number; patience: number };

/** A quarter of the connections in all, and one of an organization: two are the cores of a small machine. */
export const lanesFor = (connections: number): LaneLimits => ({
  total: Math.max(1, Math.floor(connections / 4)),
  each: 1,
  waitingEach: 64,
  waitingTotal: 1_024,
  patience: 4_000,
});

type Waiting = { start: () => void; refuse: () => void };
type Lane = { running: number; queue: Waiting[] };

export type Lanes = ReturnType<typeof createLanes>;

/**
 * Lets few expensive reads run at once, so that they never take every connection of the database, nor one organization what all share.
 * The others wait and are served in turn, organization by organization. A full queue, and too long in it, are 429.
 */
export function createLanes({ total, each, waitingEach, waitingTotal, patience }: LaneLimits) {
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

  function wait(lane: Lane) {
    if (lane.queue.length >= waitingEach || waiting >= waitingTotal) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      clearTimeout(timer);
      waiting--;
    };
    const entry: Waiting = {
      start() {
        leave();
        begin(lane);
        resolve();
      },
      refuse() {
        leave();
        lane.queue.splice(lane.queue.indexOf(entry), 1);
        reject(tooMany());
      },
    };
    const timer = setTimeout(entry.refuse, patience);
    waiting++;
    lane.queue.push(entry);
    return promise;
  }

  /** Runs `work` when it is the organization's turn. */
  async function run<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result> {
    const lane = lanes.get(organizationId) ?? { running: 0, queue: [] };
    lanes.set(organizationId, lane);
    try {
      if (running < total && lane.running < each) begin(lane);
      else await wait(lane);
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

const tooMany = () =>
  new Refusal(429, "Too many expensive reads of this organization are under way. Try again in a moment.", { "retry-after": "1" }, "too many expensive reads");
