import { expect, setDefaultTimeout, test } from "bun:test";
import { newAgent } from "../../../support/server/agents";
import { newFleet, runPolicyJob } from "../../../support/server/fleet";
import { world } from "../../../support/server/world";
import { PATH, TYPE } from "./policies";

setDefaultTimeout(600_000);

type Labels = Record<string, string>;
const SELECTORS: Record<string, (labels: Labels) => boolean> = {
  "env=a": ({ env }) => env === "a",
  "env in (a,b)": ({ env = "" }) => ["a", "b"].includes(env),
  "env!=a": ({ env }) => env !== "a",
  "env=b,tier=x": ({ env, tier }) => env === "b" && tier === "x",
  tier: ({ tier }) => tier !== undefined,
  "!tier": ({ tier }) => tier === undefined,
  null: () => true,
};
const TEXTS = Object.keys(SELECTORS);
const selectorOf = (text: string) => (text === "null" ? null : text);
const ALIASES = ["p", "q", "r", "s"];
const OPERATIONS = 1_000;
const AT_ONCE = 5;

/** The same numbers for the same seed: mulberry32. */
function generator(seed: number) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Policy = { id: string; selector: string | null; alias: string; certificate_id: string; enabled: boolean; labels: Labels };
type Listed = { agent_id: string; policy_id: string };
type Held = { id: string; agent_id: string; policy_id: string | null; alias: string; certificate_id: string; enabled: boolean };

const matching = ({ selector }: Policy, labels: Labels | undefined) => labels !== undefined && SELECTORS[selector ?? "null"]?.(labels) === true;

/** What the organization has, once the server has done its work. */
async function readAll(organizationId: string) {
  const agents = await world.sql<
    { id: string; labels: Labels }[]
  >`select id, labels::text::json as labels from agents where organization_id = ${organizationId}`;
  const policies = await world.sql<Policy[]>`
    select id, selector, config->>'alias' as alias, certificate_id, enabled from assignment_policies where organization_id = ${organizationId}`;
  const held = await world.sql<Held[]>`
    select id, agent_id, policy_id, config->>'alias' as alias, certificate_id, enabled from assignments where organization_id = ${organizationId}`;
  const listed = await world.sql<Listed[]>`select agent_id, policy_id from policy_conflicts where organization_id = ${organizationId}`;
  return {
    agents,
    policies,
    held,
    listed,
    labels: new Map(agents.map((each) => [each.id, each.labels])),
    byId: new Map(policies.map((each) => [each.id, each])),
  };
}
type All = Awaited<ReturnType<typeof readAll>>;

/** Assignments of policies, and conflicts, that should not be, or not so. */
function* findExcess({ held, listed, labels, byId }: All) {
  for (const each of held.filter(({ policy_id }) => policy_id !== null)) {
    const policy = byId.get(each.policy_id ?? "");
    if (!policy || !matching(policy, labels.get(each.agent_id))) yield { what: "does not match", ...each };
    else if (policy.alias !== each.alias || policy.certificate_id !== each.certificate_id || policy.enabled !== each.enabled)
      yield { what: "is not as the policy says", ...each, policy };
  }
  for (const each of listed) {
    const policy = byId.get(each.policy_id);
    if (!policy || !matching(policy, labels.get(each.agent_id))) yield { what: "is listed, but does not match", ...each };
  }
}

/** Places that two have, one of them a policy's; and policies that lack an assignment without a reason, or tell a wrong one. */
function* findLack({ agents, policies, held, listed }: All) {
  for (const { id, labels } of agents) {
    const here = held.filter((each) => each.agent_id === id);
    for (const alias of ALIASES) {
      const there = here.filter((each) => each.alias === alias);
      if (there.length > 1 && there.some((each) => each.policy_id !== null)) yield { what: "two at one place", there };
    }
    for (const policy of policies.filter((each) => matching(each, labels))) {
      const own = here.filter((each) => each.policy_id === policy.id).length;
      const isTaken = here.some((each) => each.policy_id !== policy.id && each.alias === policy.alias);
      const isListed = listed.some((each) => each.agent_id === id && each.policy_id === policy.id);
      if (own + Number(isTaken) !== 1 || isListed !== isTaken) yield { what: "not exactly one of assignment and conflict", id, own, isTaken, isListed, policy };
    }
  }
}

async function findWrong(organizationId: string) {
  const all = await readAll(organizationId);
  return [...findExcess(all), ...findLack(all)];
}

test.each([1, 2])(
  "after a thousand changes of labels, agents, policies and single assignments, five at a time, all is as it must be (seed %d)",
  async (seed) => {
    const random = generator(seed);
    const pick = <Value>(list: readonly Value[]) => list[Math.floor(random() * list.length)] as Value;
    const fleet = await newFleet(...Array.from({ length: 12 }, () => ({ env: pick(["a", "b", "c"]) })));
    const { organization } = fleet;
    const roots = await fleet.importRoots("First", "Second", "Third");
    const policyIds: string[] = [];
    const agents = [...fleet.agents] as { id: string; assignments: string; path: string }[];
    const answers = new Map<string, number>();
    const count = (name: string, status: number) => answers.set(`${name} ${status}`, (answers.get(`${name} ${status}`) ?? 0) + 1);
    const single = () => ({ applicationId: "single", certificateId: pick(roots), trustStoreType: TYPE, config: { alias: pick(ALIASES) } });

    const operations: Record<string, () => Promise<number>> = {
      async label() {
        const change = pick([{ set: { env: pick(["a", "b", "c"]) } }, { set: { tier: pick(["x", "y"]) } }, { unset: ["tier"] }]);
        const whom = random() < 0.8 ? { agentIds: [pick(agents).id] } : { selector: { env: pick(["a", "b", "c"]) } };
        return (await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { ...whom, ...change } })).status;
      },
      async create() {
        const policy = { ...single(), applicationId: "policy", selector: selectorOf(pick(TEXTS)) };
        const { status, body } = await organization.admin("POST", PATH, { body: policy });
        if (status === 201) policyIds.push(body.id);
        return status;
      },
      async change() {
        const change = pick([
          { selector: selectorOf(pick(TEXTS)) },
          { enabled: random() < 0.5 },
          { config: { alias: pick(ALIASES) } },
          { certificateId: pick(roots) },
        ]);
        return policyIds.length === 0 ? 0 : (await organization.admin("PATCH", `${PATH}/${pick(policyIds)}`, { body: change })).status;
      },
      async remove() {
        const id = pick(policyIds);
        if (id === undefined || policyIds.length < 3) return 0;
        policyIds.splice(policyIds.indexOf(id), 1);
        return (await organization.admin("DELETE", `${PATH}/${id}`)).status;
      },
      async enrol() {
        if (agents.length > 16) return 0;
        agents.push(await newAgent(organization, { labels: { env: pick(["a", "b", "c"]) } }));
        return 201;
      },
      async leave() {
        const agent = pick(agents);
        if (agents.length < 9) return 0;
        agents.splice(agents.indexOf(agent), 1);
        return (await organization.admin("DELETE", agent.path)).status;
      },
      async assign() {
        return (await organization.admin("POST", pick(agents).assignments, { body: single() })).status;
      },
      async unassign() {
        const agent = pick(agents);
        const { body } = await organization.member("GET", `${agent.assignments}?limit=100`);
        const mine = (body.items ?? []).filter((each: { policyId: string | null }) => each.policyId === null);
        return mine.length === 0 ? 0 : (await organization.admin("DELETE", `${agent.assignments}/${pick<{ id: string }>(mine).id}`)).status;
      },
      async move() {
        const agent = pick(agents);
        const { body } = await organization.member("GET", `${agent.assignments}?limit=100`);
        const mine = (body.items ?? []).filter((each: { policyId: string | null }) => each.policyId === null);
        if (mine.length === 0) return 0;
        return (await organization.admin("PATCH", `${agent.assignments}/${pick<{ id: string }>(mine).id}`, { body: { config: { alias: pick(ALIASES) } } }))
          .status;
      },
      async work() {
        await runPolicyJob();
        return 200;
      },
    };
    const weights = { label: 8, create: 3, change: 4, remove: 2, enrol: 1, leave: 1, assign: 2, unassign: 2, move: 1, work: 2 };
    const names = Object.entries(weights).flatMap(([name, weight]) => Array.from({ length: weight }, () => name));

    for (let done = 0; done < OPERATIONS; done += AT_ONCE) {
      const batch = Array.from({ length: AT_ONCE }, () => pick(names));
      await Promise.all(batch.map(async (name) => count(name, (await operations[name]?.()) ?? 0)));
      if (done % 100 === 0) {
        await settle();
        expect(await findWrong(organization.id)).toEqual([]);
      }
    }
    await settle();
    expect(await findWrong(organization.id)).toEqual([]);
    for (const hoped of ["create 201", "create 409", "change 200", "change 409", "remove 204", "assign 201", "assign 409", "unassign 204", "label 200"])
      expect({ hoped, isMet: answers.has(hoped) }).toEqual({ hoped, isMet: true });
    expect([...answers.keys()].filter((each) => / 5\d\d$/.test(each))).toEqual([]);
  },
);

/** Until the server finds nothing to do: a place that becomes free is noticed in one turn and taken in the next. */
async function settle() {
  for (let turn = 0; turn < 3; turn++) await runPolicyJob();
}
