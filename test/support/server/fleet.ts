import { applyPolicies } from "#jobs/apply-policies";
import { reconcileRollouts } from "#jobs/reconcile-rollouts";
import { certificate, importInto } from "../pki/certificates";
import { anAssignment, newAgent } from "./agents";
import { newOrganization } from "./people";
import { world } from "./world";

export type TestAgent = Awaited<ReturnType<typeof newAgent>>;
type Item = { id: string; certificateId: string; fingerprintSha256: string; config: { alias?: string } };
type State = "installed" | "failed" | "drifted" | "removed" | "refused";

/** An organization with an agent for each of the labels; they install nothing, but report as if they did. */
export async function newFleet<const Labels extends Record<string, string>[]>(...labels: Labels) {
  const organization = await newOrganization();
  const agents: TestAgent[] = [];
  for (const [index, each] of labels.entries()) agents.push(await newAgent(organization, { name: `host-${index}`, labels: each }));
  const importRoots = (...names: string[]) => importInto(organization, ...names.map((commonName) => certificate({ commonName, isCa: true }).pem));
  const assign = async (agent: TestAgent, certificateId: string, rest: object = {}) => {
    const { status, body } = await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, rest) });
    if (status !== 201) throw new Error(`the assignment was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  const events = async (action: string) => {
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    return items.filter((each: { action: string }) => each.action === action);
  };
  return { organization, agents: agents as { [Index in keyof Labels]: TestAgent }, importRoots, assign, events };
}

/** A rollout of a trust anchor, to the canaries first. */
export const aRollout = (certificateId: string, assignment: object = {}, rest: object = {}) => ({
  name: "Canaries first",
  assignment: { applicationId: "payments", certificateId, trustStoreType: "linux_update_ca_certificates", ...assignment },
  rings: [{ selector: "env=canary" }, { selector: "env=prod" }],
  ...rest,
});

/** Returns the assignments that the agent must install, the oldest first. */
export const desired = async (agent: TestAgent): Promise<Item[]> => (await agent.call("GET", "/agent/assignments")).body.items;

/** Every agent asks what it must install and reports the same of all of it. */
export async function report(state: State, ...agents: TestAgent[]) {
  for (const agent of agents) {
    const reports = (await desired(agent)).map(({ id, fingerprintSha256 }) => ({
      assignmentId: id,
      state,
      ...(state === "failed" ? { message: "no space left on device" } : { observedFingerprint: fingerprintSha256 }),
    }));
    const { status } = await agent.call("POST", "/agent/reports", { body: { reports } });
    if (status !== 204) throw new Error(`the report was answered ${status}`);
  }
}

/** Every agent asks what it is to remove and reports the same of all of it. */
export async function obey(state: "removed" | "failed" | "kept", ...agents: TestAgent[]) {
  for (const agent of agents) {
    const { remove } = (await agent.call("GET", "/agent/assignments")).body;
    const reports = remove.map(({ id }: Item) => ({ assignmentId: id, state, ...(state !== "removed" && { message: `It is ${state}.` }) }));
    const { status } = await agent.call("POST", "/agent/reports", { body: { reports } });
    if (status !== 204) throw new Error(`the report was answered ${status}`);
  }
}

/** Before each test that lets a minute pass: the server's work is for that test's rollouts, not for all that others left running. */
export const deactivateOtherRollouts = async () => {
  await world.sql`update rollouts set is_busy = false where is_busy`;
};

/** Runs the job of every two seconds that makes agents match the policies. */
export const runPolicyJob = () => applyPolicies(world.deps, new AbortController().signal);

/** The server's work of a minute, some seconds from now. */
export const runRolloutJob = (secondsFromNow = 0, deps = world.deps) => runRolloutJobAt(Date.now() + secondsFromNow * 1_000, deps);

/** The same at a moment, in ms. */
export const runRolloutJobAt = (moment: number, deps = world.deps) =>
  reconcileRollouts({ sql: deps.sql, stamps: deps.stamps, clock: () => new Date(moment) })({}, new AbortController().signal);
