import { isDeepStrictEqual } from "node:util";
import { compileSelector } from "#labels/selector";
import { compareFacts, nameOfPolicy, readNewAssignment } from "#modules/fleet/assignments/rules";
import type { NewAssignment } from "#modules/fleet/assignments/schema/assignments";
import { readRings } from "#modules/fleet/rollouts/rules";
import type { AssignmentPolicyPatch, NewAssignmentPolicy } from "./schema";

/** Agents and their selector; `path` is null where it takes all of them. */
type Choice = { selector: string | null; path: string | null };
type Assignment = Exclude<ReturnType<typeof readNewAssignment>, { invalid: string }>;

/** A policy with every default in place. */
export type Policy = Choice & { name: string | null; assignment: Assignment };

export function readNewPolicy({ name, selector, rings, haltShare: _, successShare: __, dryRun: ___, ...assignment }: NewAssignmentPolicy) {
  const policy = readPolicy(name ?? null, selector, assignment);
  if ("invalid" in policy) return policy;
  if (rings && !policy.assignment.enabled) return { invalid: "body.enabled must be true where there are rings." };
  const compiled = rings && readRings(rings);
  if (compiled && "invalid" in compiled) return compiled;
  return { policy, rings: compiled?.rings };
}

/**
 * The policy as the patch makes it, or what is wrong with it. A field of the config that is null gets the store's default, if
 * there is one.
 */
export function patchPolicy(stored: Policy, { name = stored.name, selector = stored.selector, dryRun: _, config, ...patch }: AssignmentPolicyPatch) {
  const fields = Object.entries({ ...stored.assignment.config, ...config }).filter(([, value]) => value !== null);
  return readPolicy(name, selector, { ...stored.assignment, ...patch, config: Object.fromEntries(fields) });
}

function readPolicy(name: string | null, selector: string | null, given: NewAssignment): Policy | { invalid: string } {
  const choice = selector === null ? { path: null } : compileSelector(selector);
  if ("fault" in choice) return { invalid: `body.selector ${choice.fault}.` };
  const assignment = readNewAssignment(given);
  return "invalid" in assignment ? assignment : { name, selector, path: choice.path, assignment };
}

/** Returns whether the policies differ in the parts that only a rotation may change while one is open. */
export const isOtherMaterial = ({ assignment: one }: Policy, { assignment: other }: Policy) =>
  one.certificateId !== other.certificateId ||
  one.materialType !== other.materialType ||
  one.includePrivateKey !== other.includePrivateKey ||
  !isDeepStrictEqual(one.config, other.config);

/** The old and new value of each fact, and of each field of the config, that differs. */
export const changesBetween = (before: Policy, after: Policy) => compareFacts(factsOf(before), factsOf(after));

const factsOf = ({ name, selector, assignment }: Policy) => ({ name, selector, ...assignment });

/** The owner of a policy's place on an agent. */
export type Occupation = { agentId: string; agentName: string; assignmentId: string | null; policyId: string | null; policyName: string | null };

const SHOWN = 5;

/** The sentence of a 409: which policies or assignments have the place, and on which agents. */
export function describeConflicts(name: string | null, total: number, occupations: Occupation[]) {
  const policy = name === null ? "this policy" : `the policy ${JSON.stringify(name)}`;
  const shown = occupations.slice(0, SHOWN).map(describeOccupation);
  const more = total > shown.length ? `; and on ${total - shown.length} more` : "";
  return `On ${total === 1 ? "one agent" : `${total} agents`} the place of ${policy} is taken: ${shown.join("; ")}${more}. Delete what is there, or choose another selector or place.`;
}

function describeOccupation({ agentId, agentName, assignmentId, policyId, policyName }: Occupation) {
  const by = policyId === null ? `the assignment ${assignmentId}` : `the policy ${nameOfPolicy({ id: policyId, name: policyName })}`;
  return `on ${agentName.slice(0, 100)} (${agentId}) by ${by}`;
}

/** The sentence of a 409 where two policies for one place have the same selector. */
export const describeTwin = (name: string | null, twin: { id: string; name: string | null }) =>
  `The policy ${nameOfPolicy(twin)} has the selector and the place of ${name === null ? "this policy" : `the policy ${JSON.stringify(name)}`}. Change that one, or choose another selector or place.`;

/** The sentences of a 409 where a rollout or a rotation is not over. */
export const describeRollout = (rolloutId: string) => `The rollout ${rolloutId} of this policy is not completed. Roll it back, or wait for its end.`;
export const describeRotation = (certificateId: string) =>
  `The certificate ${certificateId} of this policy has a successor: what is installed cannot change before that rotation is over.`;
