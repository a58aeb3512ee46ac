import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { runAndKillAt } from "../support/agent/crash";
import { DOOMED_STORES, type DoomedStore, type DoomedTarget, newDoomedTarget, remainsOf, type Stock } from "../support/agent/crash-stores";
import { type Installation, newInstallation } from "../support/agent/installation";
import { stateOf } from "../support/agent/observing";
import { newAuthority } from "../support/pki/authority";

setDefaultTimeout(900_000);

let installation: Installation;
let authority: Awaited<ReturnType<typeof newAuthority>>;
let stock: Stock;
beforeAll(async () => {
  [installation, authority] = await Promise.all([newInstallation(), newAuthority()]);
  const [leaf, foreign] = await Promise.all([authority.issueServer("leaf.test"), authority.issueServer("foreign.test")]);
  const rootId = await installation.importPem(authority.root.pem);
  stock = { rootId, leafId: await installation.importPem(leaf.pem, leaf.privateKeyPem), foreign };
});
afterAll(async () => {
  authority.remove();
  await installation.remove();
});

/** So many agents are killed side by side; most of their time is waiting. */
const LANES = 4;
/** Each how many steps one is killed. Every file takes four, so that three meet each kind of step. */
const STRIDE = Bun.env.CERTITUDE_EVERY_ENDING ? 1 : 3;
/** Milliseconds for which a step is held; more where the kill came too late. */
const HOLDS = [8, 50, 300];

/** A change of what is desired, how one pass ends that makes it true, and the way back. */
type Turn = {
  name: string;
  begin: (target: DoomedTarget) => Promise<unknown>;
  /** What the server desires by the time the agent runs again. */
  meanwhile?: (target: DoomedTarget) => Promise<unknown>;
  code: number;
  state: string;
  back: (target: DoomedTarget) => Promise<unknown>;
};

const INSTALLATION: Turn = {
  name: "installation",
  begin: ({ id, change }) => change(id, { enabled: true }),
  code: 0,
  state: "installed",
  async back({ id, change, once, prepare }) {
    await change(id, { enabled: false });
    await once();
    prepare();
  },
};

/** Whatever it had begun must go, though nobody wants it any more. */
const CHANGE_OF_MIND: Turn = {
  ...INSTALLATION,
  name: "installation that is desired no more",
  meanwhile: ({ id, change }) => change(id, { enabled: false }),
  state: "removed",
  back: async ({ prepare }) => prepare(),
};

const REMOVAL: Turn = {
  name: "removal",
  begin: ({ id, change }) => change(id, { enabled: false }),
  code: 0,
  state: "removed",
  async back({ id, change, once }) {
    await change(id, { enabled: true });
    await once();
  },
};

/** The reload fails, so that the store must be as it was before, and there is no way back to go but to the first installation. */
const ROLLBACK: Turn = {
  name: "rollback",
  begin: ({ id, change, elsewhere }) => change(id, elsewhere),
  code: 1,
  state: "failed",
  async back({ id, change, once, read }) {
    if ((await read(id)).report) return;
    await change(id, { enabled: true });
    await once();
  },
};

/** One pass that nobody disturbs: it ends as it should, the server knows, and nothing is left over. */
async function settle(target: DoomedTarget, { code, state }: Turn) {
  expect(await target.once()).toMatchObject({ code });
  expect((await target.read(target.id)).report.state).toBe(state);
  expect(remainsOf(target)).toEqual([]);
  return stateOf(target.pathOf("host"));
}

/** Dies exactly before this step of the turn, and is right afterwards all the same. Returns the step; where the turn has fewer, all of them, and how often files were synced. */
async function dieAt(step: number, turn: Turn, target: DoomedTarget, wanted: ReturnType<typeof stateOf>, paths = target.paths) {
  for (const hold of HOLDS) {
    await turn.begin(target);
    const { isKilled, steps, syncs, code } = await runAndKillAt(target.host, paths, { step, hold }, ...target.args, "--once");
    expect(code).toBe(isKilled ? 137 : turn.code);
    await turn.meanwhile?.(target);
    expect(await settle(target, turn)).toEqual(wanted);
    await turn.back(target);
    if (!isKilled) return { whole: { steps, syncs } };
    if (steps.length === step) return { call: steps.at(-1) ?? "" };
  }
  throw new Error(`the ${turn.name} could not be killed before step ${step} in time`);
}

/** Dies before one in `stride` steps of the turn, one after the other. Returns all its steps, and how often files were synced. */
async function dieAtEach(store: DoomedStore, turn: Turn, { paths, stride = STRIDE }: { paths?: string[]; stride?: number } = {}) {
  const deaths: string[] = [];
  async function takeLane(_: unknown, lane: number) {
    const target = await newDoomedTarget(installation, stock, store);
    await turn.back(target);
    await turn.begin(target);
    await target.once();
    await turn.meanwhile?.(target);
    const wanted = await settle(target, turn);
    await turn.back(target);
    for (let step = lane * stride + 1; ; step += LANES * stride) {
      const { call, whole } = await dieAt(step, turn, target, wanted, paths);
      if (whole) return whole;
      deaths.push(call);
    }
  }
  const [whole = { steps: [], syncs: 0 }] = await Promise.all(Array.from({ length: LANES }, takeLane));
  console.info(`${turn.name}: killed before ${deaths.length} of ${whole.steps.length} steps:`, deaths.join(", "));
  expect(deaths).toHaveLength(Math.ceil(whole.steps.length / stride));
  return whole;
}

const countOf = (call: string, { steps }: { steps: string[] }) => steps.filter((each) => each === call).length;

describe.each(DOOMED_STORES)("the executable as an agent, killed before each change to $name", (store) => {
  // The turns are the agent's own and the same in every store; what differs is how a store is changed and changed back.
  test.each(store.isWhole ? [INSTALLATION, CHANGE_OF_MIND, REMOVAL, ROLLBACK] : [ROLLBACK])("$name", async (turn) => {
    const whole = await dieAtEach(store, turn);
    expect(countOf("rename", whole)).toBeGreaterThanOrEqual(store.isWhole ? 6 : 1);
    expect(countOf("execve", whole)).toBeGreaterThanOrEqual(1);
    expect(whole.syncs).toBeGreaterThanOrEqual(store.isWhole ? 12 : 2);
  });
});

describe("the executable as an agent, killed before each message to the server", () => {
  test.each([INSTALLATION, REMOVAL])("$name", async (turn) => {
    const [store] = DOOMED_STORES;
    expect(store && (await dieAtEach(store, turn, { paths: [], stride: 1 })).steps).toEqual(["connect", "sendto", "sendto"]);
  });
});
