import { realpath } from "node:fs/promises";
import { findProofFault } from "#modules/issuance/issuing/rules/host-proofs";
import { type ChallengeReport, HostChallenge } from "#modules/issuance/requests/schema/host-keys";
import type { Work } from "../attempt";
import { inWords } from "../host/files";
import { expectShowable, Refused } from "../policy/host-policy";
import { failed, refused, reportable } from "../report";
import type { DesiredState, ServerClient } from "../server-client";
import { expectUnderstood } from "../targets";
import { Unreachable } from "../transport";
import type { ChallengeRecord } from "./challenge-records";
import { type Listeners, portOf } from "./listeners";
import { planAnswer, removeAnswer, removeEmptied } from "./webroot";

type Answering = Work & {
  listeners: Listeners;
  /** True when no other pass follows this one. */
  isOnce: boolean;
};
type Reporting = Answering & { client: Pick<ServerClient, "reportChallenges"> };
type Shown = { failed: number; unreachable?: Unreachable };

/** An order lasts no longer: what a server that is away asked for before is answered no more. */
const LONGEST_MS = 86_400_000;
/** Whatever a server says, the name and the content of a file have these forms, of which no program makes anything. */
const [TOKEN, THUMBPRINT, NAME] = [/^[\w-]{16,200}$/, /^[\w-]{43}$/, /^[\w.:-]{1,253}$/];

/**
 * Answers the challenges that CAs are about to check, removes the others, and reports both to the server. While the server is
 * away it adds no answer.
 */
export async function showChallenges({ challenges = [] }: Pick<DesiredState, "challenges">, work: Reporting, isAway: boolean): Promise<Shown> {
  const { records } = work.state.challenges;
  const isYoung = ({ since = 0 }: Partial<ChallengeRecord> = {}) => work.clock().getTime() - since < LONGEST_MS;
  const asked = challenges.filter(({ id }) => !isAway || isYoung(records.get(id)));
  if (work.isDryRun) return reportPlans(asked, work);
  let failures = await forgetUnasked(new Set(asked.map(({ id }) => id)), work);
  const reports = new Map<string, ChallengeReport[]>();
  const plans = [];
  for (const challenge of asked) plans.push({ challenge, show: await planOne(challenge, work) });
  await work.state.challenges.flush(); // before anything is made
  for (const { challenge, show } of plans) {
    const { report, isFailure } = await show();
    if (isFailure) failures++;
    if (report) reports.getOrInsertComputed(challenge.requestId, () => []).push(report);
  }
  await work.state.challenges.flush();
  return isAway ? { failed: failures } : { failed: failures, ...(await deliver(reports, work)) };
}

function reportPlans(asked: HostChallenge[], { log }: Answering): Shown {
  for (const { requestId, name, proof } of asked) log.info({ request: requestId, name, proof }, "would answer a challenge of a CA");
  return { failed: 0 };
}

/** Takes away everything that is answered but what is asked for. Returns how much could not be. */
export async function forgetUnasked(
  asked: ReadonlySet<string>,
  { state: { challenges: known }, listeners, log }: Pick<Answering, "state" | "listeners" | "log">,
) {
  listeners.keepOnly((id) => asked.has(id));
  let failures = 0;
  async function attempt(removal: () => Promise<void>) {
    try {
      await removal();
    } catch (error) {
      log.error({ reason: (error as Error).message }, "the answer to a challenge could not be removed");
      failures++;
    }
  }
  for (const record of [...known.records.values()].filter(({ id }) => !asked.has(id)))
    await attempt(async () => {
      await removeAnswer(record);
      if (record.path !== undefined) log.info({ path: record.path }, "removed the answer to a challenge");
      known.forget(record.id);
    });
  if (known.directories.size > 0) await attempt(() => removeEmptied(known));
  await known.flush();
  return failures;
}

type Outcome = { report?: ChallengeReport; isFailure: boolean };

/** Plans one answer; returns what gives it, and says what is to be reported. */
async function planOne(challenge: HostChallenge, work: Answering): Promise<() => Promise<Outcome>> {
  const { id, isShown } = challenge;
  const { challenges: known } = work.state;
  const record: ChallengeRecord = { id, ...known.records.get(id) };
  const log = work.log.child({ request: challenge.requestId, name: challenge.name });

  function fail(error: Error): Outcome {
    work.listeners.drop(id);
    const isRefused = error instanceof Refused;
    const { message: reason = "" } = isRefused ? refused(error, log) : failed(error, log);
    const message = reportable(reason, [challenge], work);
    const isReported = record.told === message && !isShown;
    known.note(record);
    return { isFailure: true, ...(!isReported && { report: { id, state: isRefused ? "refused" : "failed", message } }) };
  }

  async function show(give: () => Promise<void>): Promise<Outcome> {
    await give();
    if (record.since === undefined) log.info({ proof: challenge.proof }, "answering a challenge of a CA");
    known.note({ ...record, since: record.since ?? work.clock().getTime(), told: undefined });
    return { isFailure: false, ...(!isShown && { report: { id, state: "shown" } }) };
  }

  try {
    const give = await planOf(challenge, record, work);
    return () => show(give).catch(fail);
  } catch (error) {
    const outcome = fail(error as Error);
    return async () => outcome;
  }
}

/** Throws Refused where the host's policy does not permit it. */
async function planOf(challenge: HostChallenge, record: ChallengeRecord, work: Answering): Promise<() => Promise<void>> {
  expectUnderstood(HostChallenge, challenge);
  const { id, name, token, thumbprint, proof } = challenge;
  const fault = findProofFault(proof);
  if (fault !== undefined) throw new Error(`The challenge's proof${fault}.`);
  if (!TOKEN.test(token) || !THUMBPRINT.test(thumbprint) || !NAME.test(name)) throw new Error("What the server sent is no challenge of a CA.");
  const content = `${token}.${thumbprint}`;
  if (proof.webroot !== undefined) {
    await expectShowable({ kind: "webroot", path: proof.webroot, field: "webroot" }, work);
    const webroot = await realpath(proof.webroot).catch(inWords(proof.webroot, "read"));
    await expectShowable({ kind: "webroot", path: webroot, field: "webroot" }, work); // its links may be others by now
    return planAnswer({ webroot, token, answer: content }, record, work.state.challenges);
  }
  await expectShowable({ kind: "challenge port", port: portOf(proof) }, work);
  if (work.isOnce)
    throw new Error("The agent answers on a port of its own only while it runs, and this is one pass (--once). Run it as a service, or name a webroot.");
  return () => work.listeners.answer(id, proof, { name, token, answer: content });
}

/** Sends reports to the server; the reason why something is not answered is reported once. */
async function deliver(
  reports: Map<string, ChallengeReport[]>,
  { client, log, state: { challenges: known } }: Reporting,
): Promise<{ unreachable?: Unreachable }> {
  try {
    for (const [requestId, challenges] of reports) {
      await client.reportChallenges(requestId, challenges);
      for (const { id, message: told } of challenges) known.note({ ...known.records.get(id), id, told });
    }
    return {};
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    log.warn({ reason: error.message }, "the server cannot be sent which challenges are answered");
    return { unreachable: error };
  } finally {
    await known.flush();
  }
}
