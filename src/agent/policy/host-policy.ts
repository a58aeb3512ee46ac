import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { foreign } from "../host/foreign";
import type { Host } from "../host/host";
import type { Material, Target } from "../store";
import { anchorDemandsOf, type Demand, demandsOf, readingDemandsOf, removalDemandsOf } from "./demands";
import { readPolicyFile } from "./file";
import { type Calling, consentLine, judge, refusalMessage } from "./judge";
import type { Policy } from "./policy";
import { type Facts, isPermitted } from "./rules";
import { factsOf, seeDemands } from "./see";

export const POLICY_FILE = "/etc/certitude-agent/policy.json";

/** The policy of this host during one pass; with a fault nothing is permitted. */
export type HostPolicy = { policy: Policy; fault?: string; facts: Facts; calling: Calling };
/** The policy's file, and the command that changes it. */
export type PolicySource = { file: string; command: string };

/** A refused operation, in words; `consent` is the command that would permit it. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly consent?: string,
  ) {
    super(message);
  }
}

/** Returns a function that reads the policy as it is now. It never throws: a policy that cannot be used permits nothing. */
export function policyReader({ file, command }: PolicySource, log: Logger) {
  const isUsual = file === POLICY_FILE;
  const calling = { command, file: isUsual ? undefined : file };
  let last: Omit<HostPolicy, "facts"> | undefined;

  async function read(): Promise<Omit<HostPolicy, "facts">> {
    const found = await readPolicyFile(file).catch(({ message }: Error) => ({ faults: [message] }));
    if (found && "faults" in found) return { policy: {}, fault: found.faults.join(" "), calling };
    if (!found && !isUsual) return { policy: {}, fault: `${file} does not exist. Make it by ${consentLine([], calling)} and what it is to permit.`, calling };
    return { policy: found?.policy ?? {}, calling };
  }

  return async () => {
    const now = await read();
    if (!isDeepStrictEqual(now, last)) {
      if (now.fault) log.error({ file, reason: now.fault }, "the policy of this host cannot be used: nothing is permitted");
      else log.info({ file, policy: now.policy }, "the policy of this host");
    }
    last = now;
    return { ...now, facts: factsOf() };
  };
}

/** The host that asks, and what it permits. */
export type Asking = { host: Host; policy: HostPolicy };

/** Throws Refused where the host does not permit what an assignment asks. Nothing of it has touched the host before. */
export const expectPermitted = (target: Target, hasPrivateKey: boolean, material: Material | undefined, asking: Asking) =>
  expect(
    target.storeType,
    [...(material ? anchorsIn(target, material, hasPrivateKey && material.privateKey === null, asking) : []), ...demandsOf(target, hasPrivateKey, asking.host)],
    asking,
  );

/** Signatures are checked only where the policy says who may be trusted. */
const anchorsIn = (target: Target, material: Material, isOwnKey: boolean, { host, policy: { policy } }: Asking) =>
  policy.anchors === undefined ? [] : anchorDemandsOf(target, material, host, isOwnKey);

/** The same for taking away what was installed. */
export const expectRemovable = (target: Target, asking: Asking) => expect(target.storeType, removalDemandsOf(target, asking.host), asking);

/** The same for looking for what was never installed by its record: at a place of the server's choice. */
export const expectReadable = (target: Target, asking: Asking) => expect(target.storeType, readingDemandsOf(target, asking.host), asking);

/** The same for answering a CA's challenges. */
export const expectShowable = (demand: Demand, asking: Asking) => expect(undefined, [demand], asking);

async function expect(storeType: Target["storeType"] | undefined, demands: Demand[], { host, policy: { policy, fault, facts, calling } }: Asking) {
  if (fault && demands.length > 0) throw new Refused(`The policy of this host cannot be used, so that it permits nothing: ${foreign(fault)}`);
  const seen = await seeDemands(demands.filter(isWithinAccounts(demands, policy, facts)), storeType, host);
  const refusal = judge(seen, policy, facts);
  if (refusal) throw new Refused(refusalMessage(refusal, calling), refusal.grants && consentLine(refusal.grants, calling));
  for (const each of seen) if ("fault" in each && each.fault) throw each.fault; // reported where it is permitted alone: else it says what is on this host
}

/** A home is looked up where its account is permitted alone: what is said of it would show whether this host has that account. */
function isWithinAccounts(demands: Demand[], policy: Policy, facts: Facts) {
  const refused = demands.flatMap((each) => (each.kind === "account" && !isPermitted(each, policy, facts) ? each.name : []));
  return (each: Demand) => !("account" in each && each.account !== undefined && refused.includes(each.account));
}
