import type { Issuing, Step } from "#modules/issuance/issuing/rules/driver";
import { readRetryAfter } from "#outbound/call";
import { backoff } from "#runtime/backoff";
import { planProof, waysOf } from "../rules/challenges";
import { Problem } from "../rules/problems";
import { AFRESH, type Ordered, type Progress, type Proof } from "../rules/progress";
import type { AcmeSettings } from "../rules/settings";
import type { Client, Signer } from "./directory";
import { describeInvalid } from "./failures";
import { groupsOf, inGroups } from "./groups";
import { downloadChain, finalizeOrder, findOrders, newOrder, type Order, readAuthorization, readOrder, undefinedIfUnknown } from "./orders";
import type { Solver } from "./solvers";

/** Authorizations that one step reads or answers, so that it ends within its claim. */
const BATCH_SIZE = 25;
/** How long name servers have to show a record, and an order has in all. */
const PROPAGATION_MS = 15 * 60_000;
const ORDER_MS = 86_400_000;
const VISIBLE_MS = 3_000;
/** How long a step waits, at most, before it asks again whether an agent shows its proofs. */
const HOST_POLL_MS = 60_000;
const POLL_MS = { first: 1_000, longest: 30_000 };
/** How often an order is made again after restarts: the server may be another one by chance, where several take turns. */
const MAX_RESTARTS = 3;
const RESTARTED = "The server that had the CA look at the proofs was restarted, so another order is made.";

/** All that a step of one request needs. */
export type Work = {
  client: Client;
  signer: Required<Signer>;
  settings: AcmeSettings;
  issuing: Issuing;
  solverOf: (proof: Proof) => Solver;
  /** True where this request came as far as making its order before: that order may be there, and not be kept. */
  isRepeated: () => Promise<boolean>;
  /** Returns those of these orders that no other request has. */
  unclaimed: (urls: string[]) => Promise<string[]>;
  now: Date;
  signal: AbortSignal;
  /** This server, since its start. */
  server: string;
};

/** Takes the next step of a request. */
export function takeStep(work: Work, progress: Progress | undefined): Promise<Step> | Step {
  if (!progress) return goOn(work, "validating", { stage: "ordering", since: work.now.toISOString() });
  if (progress.stage === "ordering") return makeOrder(work, progress);
  if (work.now.getTime() - Date.parse(progress.since) > ORDER_MS) return { to: "failed", reason: "The CA did not come to an end with the order within a day." };
  if (progress.accountUrl !== work.signer.accountUrl) return beginAgain(work, "The issuer has another account by now.");
  return advance(work, progress);
}

const later = ({ now }: Pick<Work, "now">, ms: number) => new Date(now.getTime() + ms);
const goOn = (work: Work, to: "validating" | "issuing", progress: Progress, afterMs = 0, reason = describeProgress(to, progress)): Step => ({
  to,
  progress,
  againAt: later(work, afterMs),
  reason,
});

/** Returns what the request waits for, in a sentence for a person. */
function describeProgress(to: "validating" | "issuing", progress: Progress) {
  if (to === "issuing") return "The CA issues the certificate.";
  if (progress.stage === "ordering") return "The CA is asked for an order.";
  return progress.proofs?.every(({ state }) => state === "told") ? "The CA validates the names." : "The proofs for the CA are made ready.";
}

/** Gives the order up for another one. */
const beginAgain = ({ now }: Work, reason: string): Step => ({ to: "retry", at: now, reason, progress: AFRESH });

/** Makes the order, or finds the one that a killed server made and did not keep. */
async function makeOrder(work: Work, { since, withoutReplaces, restarts = 0 }: Progress & { stage: "ordering" }): Promise<Step> {
  const { client, signer, issuing, settings } = work;
  await client.reach(); // a CA that is away has made no order, which would have to be searched for among all of the account
  const [found] = (await work.isRepeated()) ? await work.unclaimed(await findOrders(client, signer, issuing.names)) : [];
  const wanted = { names: issuing.names, profile: issuing.profile ?? settings.profile ?? null, replaces: withoutReplaces ? null : issuing.replaces };
  try {
    const orderUrl = found ?? (await newOrder(client, signer, wanted));
    return goOn(work, "validating", { stage: "ordered", since, orderUrl, accountUrl: signer.accountUrl, polls: 0, restarts });
  } catch (error) {
    if (!(error instanceof Problem) || error.type !== "alreadyReplaced" || withoutReplaces) throw error;
    return goOn(
      work,
      "validating",
      { stage: "ordering", since, withoutReplaces: true, restarts },
      0,
      "The certificate was renewed before; the CA is given no predecessor.",
    );
  }
}

/** Does what the CA's order waits for. */
async function advance(work: Work, progress: Ordered): Promise<Step> {
  const { client, signer, settings, issuing } = work;
  const { proofs = [] } = progress;
  // The CA expects what the account's key of now proves.
  const isOutdated = proofs.some(({ thumbprint }) => thumbprint !== signer.key.thumbprint);
  if (!isOutdated && proofs.some(({ state }) => state !== "told")) return prove(work, progress, proofs);
  const order = await readOrder(client, signer, progress.orderUrl).catch(undefinedIfUnknown);
  if (!order) return beginAgain(work, "The CA has the order no more.");
  if (isOutdated && ["pending", "invalid"].includes(order.status)) return beginAgain(work, "The account has another key than when the proofs were planned.");
  if (order.status === "pending") return progress.proofs ? poll(work, "validating", progress, order) : plan(work, progress, order);
  if (order.status === "invalid") return giveUp(work, progress, order);
  // Two requests for the same names may have been given one order, which issues once.
  if (!progress.isFinalizing && order.status !== "ready") return beginAgain(work, "The order was finished for another request.");
  if (!progress.isFinalizing) return goOn(work, "issuing", { ...progress, isFinalizing: true, polls: 0 });
  const issued = order.status === "ready" ? await finalizeOrder(client, signer, order, issuing.csr) : order;
  if (issued.status === "valid")
    return { to: "issued", chainPem: await downloadChain(client, signer, issued, settings), provenByDns: namesOf(progress, "dns-01") };
  if (issued.status === "invalid") return { to: "failed", reason: await describeInvalid(client, signer, issued) };
  return poll(work, "issuing", progress, issued);
}

/**
 * Has a request fail whose order the CA gave up; or makes another order, where the server was restarted that was to show the proofs
 * meanwhile.
 */
async function giveUp({ client, signer, server, now }: Work, { proofs = [], lookedBy, isFinalizing, restarts = 0 }: Ordered, order: Order): Promise<Step> {
  const reason = await describeInvalid(client, signer, order);
  const isShownHere = proofs.some(({ type, challenge }) => type === "http-01" && challenge !== "host");
  if (isFinalizing || !isShownHere || lookedBy === server || restarts === MAX_RESTARTS) return { to: "failed", reason };
  const progress: Progress = { stage: "ordering", since: now.toISOString(), restarts: restarts + 1 };
  return { to: "retry", at: now, reason: `${RESTARTED} ${reason}`, progress };
}

const namesOf = ({ proofs = [] }: Ordered, kind: Proof["type"]) => proofs.flatMap(({ type, name }) => (type === kind ? name : []));

/** Asks again: when the CA says, or after 1, 2, 4 … seconds, at last 30. */
function poll(work: Work, to: "validating" | "issuing", progress: Ordered, { retryAfter }: Order): Step {
  const wait = readRetryAfter(retryAfter, work.now, ORDER_MS) ?? backoff(POLL_MS, progress.polls + 1);
  return goOn(work, to, { ...progress, polls: progress.polls + 1 }, wait);
}

/** Reads every authorization and says how it will be proven. */
async function plan(work: Work, progress: Ordered, { authorizations }: Order): Promise<Step> {
  const { client, signer, settings, issuing } = work;
  const read = await inGroups(authorizations, (url) => readAuthorization(client, signer, url));
  const ways = waysOf(issuing.hostProof, settings.challenges);
  const proofs = read.flatMap((authorization) => planProof(authorization, issuing.names, ways, signer.key.thumbprint) ?? []);
  return goOn(work, "validating", { ...progress, proofs });
}

/** Keeps where proofs will be, so that they are taken away there. */
async function locate(work: Work, progress: Ordered, all: Proof[], unlocated: Proof[]): Promise<Step> {
  const targets = new Map(await inGroups(unlocated, async (proof) => [proof, await work.solverOf(proof).locate?.(proof, work.signal)] as const));
  const proofs = all.map((proof): Proof => ({ ...proof, ...(targets.has(proof) && { target: targets.get(proof) }) }));
  return goOn(work, "validating", { ...progress, proofs });
}

/** Presents proofs, waits until the CA can see them, and answers the challenges. */
async function prove(work: Work, progress: Ordered, all: Proof[]): Promise<Step> {
  const { client, signer, signal } = work;
  const batch = all.filter(({ state }) => state !== "told").slice(0, BATCH_SIZE);
  const unlocated = batch.filter((proof) => proof.state === "planned" && proof.target === undefined && work.solverOf(proof).locate);
  if (unlocated.length > 0) return locate(work, progress, all, unlocated);
  for (const group of groupsOf(batch.filter(({ state }) => state === "planned"))) {
    await Promise.all(group.map((proof) => work.solverOf(proof).present(proof, signal)));
  }
  const seen = await inGroups(batch, async (proof) => ({ proof, ...(await work.solverOf(proof).isVisible(proof, signal)) }));
  const visible = seen.filter((each) => each.visible).map(({ proof }) => proof);
  const answers = await inGroups(visible, ({ challengeUrl }) => answerChallenge(client, signer, challengeUrl));
  const proofs = all.map((proof): Proof => (batch.includes(proof) ? { ...proof, state: visible.includes(proof) ? "told" : "presented" } : proof));
  const { hiddenSince = work.now.toISOString(), ...rest } = progress;
  const isFirst = answers.every(Boolean) && (rest.lookedBy === work.server || all.every(({ state }) => state !== "told"));
  const next = { ...rest, proofs, lookedBy: isFirst ? work.server : undefined };
  const [hidden] = seen.flatMap((each) => (each.visible ? [] : each));
  if (!hidden) return goOn(work, "validating", next, proofs.every(({ state }) => state === "told") ? POLL_MS.first / 4 : 0);
  const reason = `The proof for ${hidden.proof.name} cannot be seen yet. ${hidden.reason}`;
  const hiddenMs = work.now.getTime() - Date.parse(hiddenSince);
  const isHosts = hidden.proof.challenge === "host";
  if (!isHosts && hiddenMs > PROPAGATION_MS) return { to: "failed", reason: `${reason} That was so for ${PROPAGATION_MS / 60_000} minutes.` };
  // An agent that shows it has the next step taken at once, unless this one is just being kept.
  const waitMs = isHosts ? Math.min(Math.max(hiddenMs, VISIBLE_MS), HOST_POLL_MS) : VISIBLE_MS;
  return goOn(work, "validating", { ...next, hiddenSince }, waitMs, reason);
}

/** Answers a challenge at the CA. Returns false where the CA validates it or has done so, because a killed server answered it. */
async function answerChallenge(client: Client, signer: Signer, challengeUrl: string) {
  try {
    await client.post(challengeUrl, {}, signer);
    return true;
  } catch (error) {
    if (!(error instanceof Problem) || error.type !== "malformed") throw error;
    const { json } = await client.post(challengeUrl, undefined, signer).catch(() => ({ json: {} as Record<string, unknown> }));
    if (json.status !== "processing" && json.status !== "valid" && json.status !== "invalid") throw error;
    return false;
  }
}
