import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { derOf } from "#modules/issuance/authorities/services/signer";
import { createPause } from "#runtime/slices";
import { findPublication, findStatuses, type IssuedStatus, type Publication, type SignedAnswer, saveAnswers, takeDueAnswers } from "../queries";
import { type CertId, certIdsOf, type Issuers, isOf, issuersOf, REFUSALS, readOcspRequest, signAnswer } from "./ocsp-messages";
import { type OpenResponder, openLocked, openResponder } from "./responder";
import { provenStatus, UnprovenStatus } from "./status";

type OcspDeps = Pick<Deps, "sql" | "config" | "clock" | "clockCheck" | "stamps" | "reads" | "log">;

/** How long an answer counts; it is signed again at half of that. */
const LIFE_MS = 3 * 86_400_000;
/** Certificates that one request may ask about. */
const MAX_ASKED = 20;

type Answer = { der: Uint8Array; nextUpdate: Date | undefined };

/** Answers an OCSP request, where nothing proves what is asked: that it be asked again later. */
export async function answerOcsp(deps: OcspDeps, ...asked: Asking): Promise<Answer | undefined> {
  try {
    return await answerProven(deps, ...asked);
  } catch (error) {
    if (!(error instanceof UnprovenStatus)) throw error;
    deps.log.error({ authorityId: asked[0] }, error.message);
    return { der: REFUSALS.tryLater, nextUpdate: undefined };
  }
}

type Asking = [authorityId: string, bytes: Uint8Array, charge: () => void];

/**
 * Answers an OCSP request with an answer signed ahead, or signs one if it is due, unknown or for several certificates, after
 * `charge`. Undefined where there is no such authority.
 */
async function answerProven(deps: OcspDeps, ...[authorityId, bytes, charge]: Asking): Promise<Answer | undefined> {
  const published = await findPublication(deps.sql, authorityId);
  if (!published) return;
  const asked = readOcspRequest(bytes);
  const [first, ...more] = asked ?? [];
  if (!asked || !first || asked.length > MAX_ASKED) return { der: REFUSALS.malformed, nextUpdate: undefined };
  const issuers = issuersOf(derOf(published.pem));
  if (published.notAfter <= deps.clock() || !asked.every((each) => isOf(issuers, each))) return { der: REFUSALS.unauthorized, nextUpdate: undefined };
  const known = new Map(
    (
      await findStatuses(
        deps.sql,
        authorityId,
        asked.map((each) => each.serialNumber),
      )
    ).map((each) => [each.serialNumber, each]),
  );
  const status = known.get(first.serialNumber);
  if (!status || more.length > 0) {
    charge();
    return signFor(deps, published, asked, known);
  }
  const { answer, nextUpdate } = status;
  if (answer && nextUpdate && (nextUpdate > deps.clock() || !(await deps.clockCheck.agrees()))) return { der: answer, nextUpdate };
  const signed = await signStatus(deps, await openResponder(deps, published), issuers, status);
  await saveAnswers(deps.sql, [signed]);
  return { der: signed.der, nextUpdate: signed.nextUpdate };
}

/** When an answer that is signed now ends, and is due again. */
function timesOf(now: Date) {
  return { thisUpdate: now, nextUpdate: new Date(now.getTime() + LIFE_MS), dueAt: new Date(now.getTime() + LIFE_MS / 2) };
}

async function signFor(deps: OcspDeps, published: Publication, asked: readonly CertId[], known: ReadonlyMap<string, IssuedStatus>) {
  const times = timesOf(deps.clock());
  const singles = asked.map(({ raw, serialNumber }) => ({ certId: raw, known: statusOf(deps, known.get(serialNumber)) }));
  const der = await signAnswer(await openResponder(deps, published), singles, times);
  count(deps, published);
  return { der, nextUpdate: times.nextUpdate };
}

const statusOf = ({ stamps, clock }: OcspDeps, issued: IssuedStatus | undefined) => issued && provenStatus(stamps, issued, clock());

/** The answer about one certificate, whichever hash a client names it by. */
async function signStatus(deps: OcspDeps, responder: OpenResponder, issuers: Issuers, status: IssuedStatus) {
  const { dueAt, ...times } = timesOf(deps.clock());
  const known = statusOf(deps, status);
  const singles = certIdsOf(issuers, status.serialNumber).map((certId) => ({ certId, known }));
  const der = await signAnswer(responder, singles, times);
  count(deps, status);
  return { ...status, der, nextUpdate: times.nextUpdate, dueAt };
}

/** Answers are signed by the responder's key, as often as they end: counted, they are one event every few seconds. */
function count({ reads }: OcspDeps, { organizationId, authorityId }: Pick<Publication, "organizationId" | "authorityId">) {
  const event = { action: "authority.ocsp-signed", targetType: "authority", targetId: authorityId };
  reads.add({ ...event, organizationId, actor: { type: "server" }, requestId: null, details: {} });
}

/** When an answer is due again that could not be signed. */
const RETRY_MS = 300_000;

/**
 * Signs some answers that are due, in the transaction that locks their rows. Returns how many were, and adds why some could not
 * be signed.
 */
export async function signDueAnswers(deps: OcspDeps, tx: Sql, limit: number, failures: unknown[]) {
  const now = deps.clock();
  const due = await takeDueAnswers(tx, now, limit);
  const postponed = (each: IssuedStatus, dueAt: Date | null) => ({ ...each, der: each.answer, dueAt });
  const later = new Date(now.getTime() + RETRY_MS);

  /** A status that no stamp proves holds up no other. */
  function isProven(status: IssuedStatus) {
    try {
      provenStatus(deps.stamps, status, now);
      return true;
    } catch (error) {
      failures.push(error);
      return false;
    }
  }
  const { true: live = [], false: ended = [] } = Object.groupBy(due, (each) => `${each.notAfter > now}`);
  const saved: SignedAnswer[] = ended.map((each) => postponed(each, null));
  for (const [authorityId, statuses] of Map.groupBy(live, (each) => each.authorityId)) {
    try {
      const { true: proven = [], false: unproven = [] } = Object.groupBy(statuses, (each) => `${isProven(each)}`);
      saved.push(...(await signStatuses(deps, tx, authorityId, proven)), ...unproven.map((each) => postponed(each, later)));
    } catch (error) {
      failures.push(error);
      saved.push(...statuses.map((each) => postponed(each, later)));
    }
  }
  if (saved.length > 0) await saveAnswers(tx, saved);
  return due.length;
}

async function signStatuses(deps: OcspDeps, tx: Sql, authorityId: string, statuses: readonly IssuedStatus[]) {
  const responder = await openLocked(deps, tx, authorityId);
  const issuers = issuersOf(derOf((await findPublication(tx, authorityId))?.pem ?? ""));
  const pause = createPause();
  const signed: SignedAnswer[] = [];
  for (const status of statuses) {
    await pause();
    signed.push(await signStatus(deps, responder, issuers, status));
  }
  return signed;
}
