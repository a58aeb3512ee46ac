import type { Values } from "#catalogue/fields";
import type { Deps } from "#deps";
import { exampleContent } from "#modules/core/connectors/rules/example";
import { BY_MESSAGE, type Kind } from "#modules/core/connectors/rules/kinds";
import { urlOf } from "#modules/core/connectors/services/attempt";
import { deliverByHttp, type Reach } from "#modules/core/connectors/services/http";
import { signIn } from "#modules/core/connectors/services/smtp";
import { describeFailure } from "#outbound/failure";
import { type Limits, send } from "#outbound/http-client";
import { ACCEPTED, ANSWERED, type Outcome } from "../rules/outcome";
import { testAccount } from "./acme";
import { verifyByRequest } from "./verification";

/** Below the five seconds that a request may take, so that the outcome can still be kept and answered. */
const LIMIT_MS = 4_000;

/** A connection that is tested, with its config and its secrets in `values`. */
export type Tested = { kind: Kind; id: string; organization: { id: string; name: string }; values: Values };
type TestDeps = { config: Pick<Deps["config"], "allowPrivateTargets" | "publicUrl">; clock: () => Date; reach?: Reach };
type Test = (tested: Tested, limits: Limits, needs: Required<TestDeps>) => Promise<Outcome>;

/** Finds out whether a connection works, within 4 s, all of it through `outbound`. */
export async function testConnection(tested: Tested, { reach = send, ...needs }: TestDeps): Promise<Outcome> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const limits = { allowPrivate: needs.config.allowPrivateTargets, signal };
  const late = { outcome: "failed" as const, message: `It did not answer within ${LIMIT_MS / 1_000} seconds.` };
  try {
    const outcome = await testOf(tested)(tested, limits, { ...needs, reach });
    return outcome.outcome === "failed" && signal.aborted ? late : outcome;
  } catch (error) {
    return signal.aborted ? late : { outcome: "failed", message: describeFailure(error) };
  }
}

function testOf({ kind, values }: Tested): Test {
  if (kind === "smtp") return testMailServer;
  if (kind === "acme") return ({ id, organization, values: settings }, limits, { clock }) => testAccount({ id, organization, settings }, { ...limits, clock });
  if (BY_MESSAGE.includes(kind) || values.mode === "incoming_webhook") return testByMessage;
  return ({ values: given }, limits, { clock, reach }) => verifyByRequest(kind, given, { limits, now: clock(), reach });
}

async function testMailServer({ values }: Tested, limits: Limits): Promise<Outcome> {
  const failed = await signIn(values, limits);
  if (failed) return { outcome: "failed", message: failed.reason };
  return { outcome: "ok", message: values.username === undefined ? ANSWERED : ACCEPTED };
}

/** Tests an address by sending a message: no other request shows whether it is right. */
async function testByMessage({ kind, id, organization, values }: Tested, limits: Limits, { config, clock, reach }: Required<TestDeps>): Promise<Outcome> {
  const link = `/organizations/${organization.id}/core/connections/${id}`;
  const content = exampleContent({ id, link }, clock());
  const message = { ...content, id: Bun.randomUUIDv7(), organization, url: urlOf(config, link), incident: undefined, isTest: true };
  const outcome = await deliverByHttp({ kind, values, message, now: clock() }, limits, reach);
  return outcome.state === "delivered" ? { outcome: "ok", message: "It took a test message." } : { outcome: "failed", message: outcome.reason };
}
