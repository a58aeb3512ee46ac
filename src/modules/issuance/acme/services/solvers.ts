import { DnsFault } from "#modules/issuance/dns/rules/fault";
import type { ProviderKey } from "#modules/issuance/dns/rules/providers";
import { createDnsSolver } from "#modules/issuance/dns/services/solver";
import { findStanding } from "#modules/issuance/domains/queries";
import { domainOf, findHttpFault } from "#modules/issuance/domains/rules";
import { ownNames } from "#modules/issuance/domains/services/own-names";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { findChallenge, forgetChallenge, keepChallenge } from "#modules/issuance/requests/queries/challenges";
import { forgetAnswer, keepAnswer } from "../queries/answers";
import { keyAuthorizationOf, recordOf } from "../rules/challenges";
import { Fault } from "../rules/problems";
import type { Proof } from "../rules/progress";
import type { ChallengeSettings } from "../rules/settings";
import { openAccountKey } from "./account-key";

type Request = { organizationId: string; requestId: string };

/** Presents proofs of one kind, and takes them away. Each is done again where a server was killed in it. */
export type Solver = {
  /** Returns where a proof is presented and removed, where that is not plain from its name. */
  locate?(proof: Proof, signal: AbortSignal): Promise<string>;
  present(proof: Proof, signal: AbortSignal): Promise<void>;
  remove(proof: Proof, signal: AbortSignal): Promise<void>;
  /** Says why, where the CA may still not see it. */
  isVisible(proof: Proof, signal: AbortSignal): Promise<{ visible: true } | { visible: false; reason: string }>;
};

/** Returns what proves control in this way, for one certificate request. */
export type Solvers = (settings: ChallengeSettings, secrets: Record<string, string>, request: Request) => Solver;

/** The time for which an answer at http-01 is there, where nothing takes it away. */
const ANSWER_MS = 7 * 86_400_000;

/**
 * http-01 by the servers of this database: an answer is there on all of them once it is kept. None is for a domain of another organization,
 * or of the server.
 */
export const http01 = (
  { sql, stamps, clock, ownNames }: Pick<IssuingDeps, "sql" | "stamps" | "clock"> & { ownNames: () => readonly string[] },
  { organizationId, requestId }: Request,
): Solver => ({
  async present(proof) {
    const { token, name } = proof;
    const domain = domainOf(name);
    const fault = findHttpFault(name, domain, await findStanding(sql, organizationId, domain), ownNames());
    if (fault !== undefined) throw new Fault(fault, true);
    const expiresAt = new Date(clock().getTime() + ANSWER_MS);
    const isKept = await keepAnswer(sql, stamps, { organizationId, requestId, token, keyAuthorization: keyAuthorizationOf(proof), name, domain, expiresAt });
    if (!isKept) throw new Fault("The CA gave a token for http-01 that it had given before.", true);
  },
  remove: ({ token }) => forgetAnswer(sql, { organizationId, requestId, token }),
  isVisible: async () => ({ visible: true }),
});

type Dns01Deps = Pick<IssuingDeps, "clock"> & { allowPrivate: boolean };

/** dns-01 by the provider that the challenge names. */
function dns01({ clock, allowPrivate }: Dns01Deps, { type: _, provider, ...config }: ChallengeSettings, secrets: Record<string, string>): Solver {
  const solver = createDnsSolver({ provider: provider as ProviderKey, config, secrets, allowPrivate, clock });
  const placed = (proof: Proof) => ({ ...recordOf(proof), target: proof.target, token: proof.token, keyAuthorization: keyAuthorizationOf(proof) });
  return {
    locate: (proof, signal) => toFault(solver.locate(recordOf(proof).name, signal)),
    present: (proof, signal) => toFault(solver.present(placed(proof), signal)),
    remove: (proof, signal) => toFault(solver.remove(placed(proof), signal)),
    isVisible: (proof, signal) => toFault(solver.isVisible(placed(proof), signal)),
  };
}

async function toFault<Value>(work: Promise<Value>) {
  try {
    return await work;
  } catch (error) {
    throw error instanceof DnsFault ? new Fault(error.message, error.isFinal, error.retryAfterMs) : error;
  }
}

/**
 * Returns the solver of challenges that the request's agent answers, for the issuer's own account, whose key is sealed: no thumbprint in
 * the database lets another account prove the names.
 */
const byHost = ({ sql, stamps }: Pick<IssuingDeps, "sql" | "stamps">, { accountKeyPem = "" }: Record<string, string>, request: Request): Solver => ({
  async present({ name, token }) {
    const { thumbprint } = await openAccountKey(accountKeyPem);
    await keepChallenge(sql, stamps, { ...request, name, token, thumbprint });
  },
  remove: ({ token }) => forgetChallenge(sql, { ...request, token }),
  async isVisible({ token }) {
    const found = await findChallenge(sql, { ...request, token });
    if (!found) throw new Fault("The agent that was to prove control of the names was deleted meanwhile.", true);
    return found.isShown ? { visible: true } : { visible: false, reason: found.fault ?? NOT_YET };
  },
});

const NOT_YET = "The agent has not shown it yet; an agent of an older release never does.";

/** Returns the solvers of this server. */
export function createSolvers({ sql, stamps, clock, config }: IssuingDeps): Solvers {
  return (settings, secrets, { organizationId, requestId }) => {
    const request = { organizationId, requestId };
    if (settings.by === "host") return byHost({ sql, stamps }, secrets, request);
    return settings.type === "http-01"
      ? http01({ sql, stamps, clock, ownNames: () => ownNames(config) }, request)
      : dns01({ clock, allowPrivate: config.allowPrivateTargets }, settings, secrets);
  };
}
