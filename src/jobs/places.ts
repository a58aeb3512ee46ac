import type { Holder, Piece, Room, Shares, Take } from "#modules/platform/jobs/rules";

/** How often a turn asks for what has become due meanwhile, and how long a turn goes on: the work at hand goes on after it. */
const LOOK_MS = 500;
const TURN_MS = 20_000;

/**
 * The places of one process for one job that calls others. No organization and no target takes more than a share of them, however slow it
 * is.
 */
export function createPlaces({ total, ofOrganization, ofTarget }: Shares) {
  const taken = new Map<Promise<void>, Holder>();

  const countOf = (field: keyof Holder, id: string) => [...taken.values()].filter((holder) => holder[field] === id).length;
  const fullOf = (field: keyof Holder, share: number) =>
    [...new Set([...taken.values()].map((holder) => holder[field]))].filter((id) => countOf(field, id) >= share);

  const findRoom = (): Room => ({
    fullOrganizations: fullOf("organizationId", ofOrganization),
    fullTargets: fullOf("targetId", ofTarget),
    of: ({ organizationId, targetId }) =>
      Math.min(total - taken.size, ofOrganization - countOf("organizationId", organizationId), ofTarget - countOf("targetId", targetId)),
  });

  function begin({ run, ...holder }: Piece) {
    const running: Promise<void> = run().finally(() => taken.delete(running));
    taken.set(running, holder);
  }

  /** Returns false where there is no place, or nothing is due. */
  async function takeSome(take: Take, stopping: AbortSignal) {
    const pieces = taken.size < total ? await take(findRoom(), stopping) : undefined;
    for (const piece of pieces ?? []) begin(piece);
    return pieces !== undefined;
  }

  /** One turn of the job: takes what is due as places become free, until nothing is due and nothing is at hand, or the turn is over. */
  async function fill(take: Take, stopping: AbortSignal) {
    const isOver = AbortSignal.any([stopping, AbortSignal.timeout(TURN_MS)]);
    while (!isOver.aborted) {
      const wasIdle = taken.size === 0;
      if (await takeSome(take, stopping)) continue;
      if (wasIdle) return;
      if (taken.size > 0) await Promise.race([Bun.sleep(LOOK_MS), ...taken.keys()]); // else a target that was full may have more
    }
  }

  /** Waits until the work at hand has ended. */
  const empty = async () => void (await Promise.all(taken.keys()));

  return { fill, empty };
}
