import type { Host } from "#agent/host/host";
import { demandsOf } from "#agent/policy/demands";
import { type HostPolicy, POLICY_FILE, type PolicySource } from "#agent/policy/host-policy";
import { judge } from "#agent/policy/judge";
import { type Policy, withGrant } from "#agent/policy/policy";
import { factsOf, seeDemands } from "#agent/policy/see";
import type { Desired } from "#agent/server-client";
import type { Target } from "#agent/store";
import { readTarget } from "#agent/targets";

const calling = { command: "certitude agent", file: undefined };

/** A host whose policy is this. */
export const holding = (policy: Policy): HostPolicy => ({ policy, calling, facts: factsOf() });

/** The policy of a host whose administrator agrees to all that the targets ask: tests of stores are about what comes after. */
export async function agreeing(host: Host, ...targets: Target[]): Promise<HostPolicy> {
  const grants = await Promise.all(
    targets.map(async (target) => judge(await seeDemands(demandsOf(target, true, host), target.storeType, host), {}, factsOf())?.grants ?? []),
  );
  return holding(grants.flat().reduce(withGrant, {}));
}

/**
 * The same for what the server sends, and where it was before; what the agent cannot read, or what leads nowhere, needs no
 * agreement to fail.
 */
export async function agreeingTo(host: Host, item: Desired, former?: Target): Promise<HostPolicy> {
  try {
    return await agreeing(host, readTarget(item), ...(former ? [former] : []));
  } catch {
    return holding({});
  }
}

/** A policy file, for an agent that runs as a program. */
export const policyAt = (file = POLICY_FILE): PolicySource => ({ file, command: "certitude agent" });
