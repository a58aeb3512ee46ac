import type { Driver, Faulted, Issuing, Name, OpenIssuer, Step } from "#modules/issuance/issuing/rules/driver";
import { reasonCodeOf } from "#x509/revocation-reasons";
import { stepOf } from "../rules/errors";
import { Fault, Problem } from "../rules/problems";
import { type Account, beginsAfresh, type Proof, readProgress } from "../rules/progress";
import { readChallenges, readSettings } from "../rules/settings";
import { ensureAccount, rollOverKey } from "./account";
import { openAccountKey } from "./account-key";
import { createClient, type Sessions } from "./directory";
import { revokeAt } from "./orders";
import { readRenewalWindow } from "./renewal-info";
import type { Solver, Solvers } from "./solvers";
import { takeStep } from "./steps";

type IssuerId = Pick<OpenIssuer, "organizationId" | "id">;
type RequestId = Pick<Issuing, "organizationId" | "issuerId" | "requestId">;

/** The state that outlives a step. */
export type Keep = {
  /** Null where the CA does not know the account any more. */
  saveAccount: (issuer: IssuerId, account: Account | null) => Promise<void>;
  /** True where the issuer has, or is to have, other account keys than these. */
  hasOtherKeys: (issuer: Pick<OpenIssuer, "organizationId" | "id" | "secrets">) => Promise<boolean>;
  /** Makes the issuer's next account key its account key. */
  changeKey: (issuer: IssuerId, nextKeyPem: string, account: Account) => Promise<void>;
  /**
   * Notes that the request is about to make its order. Returns true where that was noted before: the order may be there, and not be kept.
   */
  beginOrder: (request: RequestId) => Promise<boolean>;
  /** Returns those of these orders that no other request has. */
  unclaimed: (request: RequestId, orderUrls: string[]) => Promise<string[]>;
};

type AcmeDriverDeps = { allowPrivate: boolean; clock: () => Date; keep: Keep; solvers: Solvers };

/** Returns the driver of ACME directories (RFC 8555). */
export function createAcmeDriver({ allowPrivate, clock, keep, solvers }: AcmeDriverDeps) {
  const sessions: Sessions = new Map();
  const server = crypto.randomUUID();

  function reach(issuer: OpenIssuer, signal: AbortSignal) {
    const settings = readSettings(issuer);
    const client = createClient(sessions, { organizationId: issuer.organizationId, id: issuer.id, settings }, { allowPrivate, signal, clock });
    return { settings, client };
  }

  /** Keeps the account, for the steps that go on with this issuer too. */
  async function saveAccount(issuer: OpenIssuer, account: Account | null) {
    await keep.saveAccount(issuer, account);
    issuer.account = account;
  }

  /** Opens the issuer's directory, and its account there: with its next key, where it has one. */
  async function open(issuer: OpenIssuer, signal: AbortSignal) {
    const { settings, client } = reach(issuer, signal);
    const key = await openAccountKey(settings.accountKeyPem);
    const signer = await ensureAccount(client, key, settings, issuer.account, (account) => saveAccount(issuer, account));
    const { nextAccountKeyPem, directoryUrl, contact } = settings;
    if (nextAccountKeyPem === undefined) return { settings, client, signer };
    const next = await openAccountKey(nextAccountKeyPem);
    await rollOverKey(client, signer, next);
    const account = { directoryUrl, url: signer.accountUrl, thumbprint: next.thumbprint, contact };
    await keep.changeKey(issuer, nextAccountKeyPem, account);
    const { nextAccountKeyPem: _, ...secrets } = issuer.secrets;
    Object.assign(issuer, { account, secrets: { ...secrets, accountKeyPem: nextAccountKeyPem } });
    return { settings, client, signer: { ...signer, key: next } };
  }

  /** Returns what presents a proof; undefined where the issuer's challenges are others by now. */
  function findSolver({ config, secrets }: OpenIssuer, request: RequestId, { challenge, type }: Proof): Solver | undefined {
    const settings = challenge === "host" ? { type, by: "host" } : readChallenges(config)[challenge];
    return settings?.type === type ? solvers(settings, secrets, request) : undefined;
  }

  function solverOf(issuer: OpenIssuer, request: RequestId, proof: Proof) {
    const solver = findSolver(issuer, request, proof);
    if (!solver) throw new Fault("The issuer's challenges have changed since the order was made.", true);
    return solver;
  }

  /** Returns the outcome of a step that failed, which may be that the account is another by now. */
  async function explain(error: unknown, issuer: OpenIssuer, names: Name[]): Promise<Faulted> {
    const step = stepOf(error, names, clock());
    if (!(error instanceof Problem)) return step;
    if (error.type === "accountDoesNotExist") await saveAccount(issuer, null);
    const isChanged = step.to === "failed" && (await keep.hasOtherKeys(issuer));
    return isChanged ? { to: "retry", at: clock(), reason: "The issuer has another account key by now." } : step;
  }

  async function take(issuer: OpenIssuer, issuing: Issuing, signal: AbortSignal): Promise<Step> {
    try {
      const work = {
        ...(await open(issuer, signal)),
        issuing,
        server,
        solverOf: (proof: Proof) => solverOf(issuer, issuing, proof),
        isRepeated: () => keep.beginOrder(issuing),
        unclaimed: (urls: string[]) => keep.unclaimed(issuing, urls),
        now: clock(),
        signal,
      };
      return await takeStep(work, readProgress(issuing.progress));
    } catch (error) {
      return explain(error, issuer, issuing.names);
    }
  }

  const driver = {
    async test(issuer, signal) {
      try {
        const { client, signer } = await open(issuer, signal);
        await client.post(signer.accountUrl, undefined, signer);
        return { outcome: "ok", message: "The directory answers and accepts the account." };
      } catch (error) {
        return { outcome: "failed", message: stepOf(error, [], clock()).reason };
      }
    },

    async take(issuer, issuing, signal) {
      const step = await take(issuer, issuing, signal);
      if (step.to === "retry" && beginsAfresh(step.progress)) await driver.end(issuer, issuing, signal);
      return step;
    },

    async end(issuer, issuing, signal) {
      const progress = readProgress(issuing.progress);
      const proofs = progress?.stage === "ordered" ? (progress.proofs ?? []) : [];
      let passing: unknown;
      for (const proof of proofs) {
        try {
          await findSolver(issuer, issuing, proof)?.remove(proof, signal);
        } catch (error) {
          if (!(error instanceof Fault && error.isFinal)) passing = error; // what is final would never be taken away
        }
      }
      if (passing !== undefined) throw passing;
    },

    findRenewalWindow: (issuer, pem, signal) => readRenewalWindow(reach(issuer, signal).client, pem, clock()),

    async revoke(issuer, { pem, reason }, signal) {
      try {
        const { client, signer } = await open(issuer, signal);
        await revokeAt(client, signer, pem, reasonCodeOf(reason));
        return { to: "revoked" };
      } catch (error) {
        return explain(error, issuer, []);
      }
    },
  } satisfies Driver;
  return driver;
}
