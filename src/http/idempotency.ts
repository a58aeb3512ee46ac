import { sha256 } from "#crypto/sha256";
import { currentClaim } from "#db/idempotency-claim";
import { claimKey, findKey, type Keyed, type Known, keepAlive, releaseClaim, storeAnswer, takeOver } from "#db/idempotency-keys";
import type { Deps } from "#deps";
import { Answered, Refusal } from "./errors";
import { exchangeOf } from "./exchange";

type KeyDeps = Pick<Deps, "config" | "sql" | "stamps" | "log">;

const KEY = /^[\x21-\x7e]{1,255}$/;
/** The headers kept with an answer; the others belong to the request or the connection. */
const KEPT_HEADERS = ["content-type", "etag", "location", "cache-control"];
const ALIVE_EVERY_MS = 5_000;
/** A process without a heartbeat for so long counts as dead: longer than the driver waits for a frozen database. */
const SILENCE_MS = 15_000;
/** How long to wait for another attempt: less than a request may take. */
const WAIT_MS = 4_000;
const POLL_EVERY_MS = 150;
/** Storing an answer is retried for two minutes, as long as a failover takes. */
const OUTCOME_PAUSE_MS = 1_000;
const OUTCOME_TRIES = 120;

const UNFINISHED = "The first request with this Idempotency-Key is still being worked on. Try again in a moment.";
const OTHER_BODY = "This Idempotency-Key was used for the same operation with another body. Send a new key, or the same body.";
const LOST =
  "What this request asks for was done, at least in part, but the server stopped before it could answer. See what is there; send a new Idempotency-Key to ask for more.";
const TOO_MANY = "You have sent more Idempotency-Keys within a day than are kept. Try again later, or without one.";

type Attempt = { deps: KeyDeps; key: string; claimId?: string; beat?: Timer };
const attempts = new WeakMap<Request, Attempt>();

/** Runs a write that has an Idempotency-Key: `handle` claims the key on its way (claimWrite), and the outcome is kept. */
export async function runKeyed(deps: KeyDeps, request: Request, key: string, handle: () => Response | Promise<Response>) {
  const attempt: Attempt = { deps, key };
  attempts.set(request, attempt);
  try {
    const answer = await currentClaim.run({ id: undefined }, handle);
    await settle(attempt, answer);
    return answer;
  } catch (error) {
    await settle(attempt, undefined);
    throw error;
  }
}

/** Routes that may write the same again without harm: an attempt that left no answer is repeated. */
const REPEATABLE = new Set([
  "/organizations/:organizationId/certificates",
  "/organizations/:organizationId/ai-governance/ingest/metrics",
  "/internal/knowledge/documents/:id/chunks",
]);

/**
 * Claims the request's Idempotency-Key, if it has one, once the caller is known and the body read; `hashBody` gives
 * its SHA-256. Where the request was answered before, this ends it with the same answer.
 */
export async function claimWrite(request: Request, hashBody: () => string | Promise<string>) {
  const attempt = attempts.get(request);
  if (!attempt) return;
  if (!KEY.test(attempt.key)) throw new Refusal(400, "The header idempotency-key must be 1 to 255 visible ASCII characters.");
  const { method, url } = request;
  const { pathname, search } = new URL(url);
  const keyed = { caller: nameCaller(request), keyHash: sha256(`${method} ${pathname}${search}\n${attempt.key}`), bodyHash: await hashBody() };
  const claimId = Bun.randomUUIDv7();
  await claim(attempt.deps, keyed, claimId);
  attempt.claimId = claimId;
  attempt.beat = setInterval(() => keepAlive(attempt.deps.sql, claimId).catch(() => {}), ALIVE_EVERY_MS); // a beat that is missed is made good by the next
  const store = currentClaim.getStore();
  if (store && !REPEATABLE.has(exchangeOf(request).route ?? "")) store.id = claimId;
}

/** Returns the sender of a key: the same user in another organization is another caller. */
function nameCaller(request: Request) {
  const { caller, scope } = exchangeOf(request);
  if (!scope) return caller ? `user ${caller.id}` : "worker";
  const { actor } = scope;
  const who = [actor, actor.via].flatMap((each) => (each ? `${each.type} ${each.id ?? ""}` : []));
  return [scope.organizationId, ...who].join(" ");
}

/** Claims the key, or ends the request with what became of the attempt before; waits for one that is still at it. */
async function claim(deps: KeyDeps, keyed: Keyed, claimId: string) {
  let known: Known | undefined;
  for (const until = performance.now() + WAIT_MS; performance.now() < until; await Bun.sleep(POLL_EVERY_MS)) {
    if (await claimKey(deps.sql, deps.stamps, keyed, claimId)) return;
    known = await findKey(deps.sql, deps.stamps, keyed, SILENCE_MS);
    if (known) answerAgain(deps, known);
    else if (await claimKey(deps.sql, deps.stamps, keyed, claimId))
      return; // it was released between the two
    else throw new Refusal(429, TOO_MANY, { "retry-after": "3600" });
    if (!known.isAlive && !known.isDone && (await takeOver(deps.sql, deps.stamps, keyed, known.claimId, claimId))) return;
  }
  throw known?.isAlive === false ? new Refusal(400, LOST) : new Refusal(503, UNFINISHED, { "retry-after": "1" });
}

function answerAgain(deps: KeyDeps, known: Known) {
  if (!known.isSame) throw new Refusal(400, OTHER_BODY);
  if (known.answer && !known.isProven) {
    deps.log.error("the stored answer of an Idempotency-Key is not given: it was changed in the database, and not by this server");
    throw new Refusal(400, LOST);
  }
  if (known.answer) throw new Answered(openAnswer(deps, known, known.answer));
  if (known.isLost) throw new Refusal(400, LOST);
}

/** Keeps the answer of a write that was done, and forgets the key of one that was not. */
async function settle({ deps, claimId, beat }: Attempt, answer: Response | undefined) {
  if (claimId === undefined) return;
  const sealed = answer?.ok ? await sealAnswer(deps, claimId, answer) : undefined;
  const settling = insist(deps, () => (sealed ? storeAnswer(deps.sql, claimId, sealed) : releaseClaim(deps.sql, claimId)));
  await Promise.race([settling.finally(() => clearInterval(beat)), Bun.sleep(WAIT_MS)]);
}

/** Tries until the database takes it; after that another attempt takes the claim over. */
async function insist({ log }: KeyDeps, work: () => PromiseLike<unknown>) {
  for (let tries = 0; tries < OUTCOME_TRIES; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      log.warn({ err: error }, "storing the answer of an Idempotency-Key failed, retrying");
      await Bun.sleep(OUTCOME_PAUSE_MS);
    }
  }
}

async function sealAnswer({ config }: KeyDeps, claimId: string, answer: Response) {
  const headers = KEPT_HEADERS.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name)]] : []));
  return config.keyring.seal(JSON.stringify({ status: answer.status, headers, body: await answer.clone().text() }), contextOf(claimId));
}

function openAnswer({ config, log }: KeyDeps, { claimId }: Known, sealed: Buffer) {
  try {
    const { status, headers, body } = JSON.parse(config.keyring.unseal(sealed, contextOf(claimId)));
    return new Response(body === "" ? null : body, { status, headers });
  } catch (error) {
    log.warn({ err: error }, "the stored answer of an Idempotency-Key cannot be decrypted");
    throw new Refusal(400, LOST);
  }
}

const contextOf = (claimId: string) => `idempotency-key ${claimId}`;
