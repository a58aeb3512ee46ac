import { Elysia, t } from "elysia";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { bearerToken } from "#auth/authenticate";
import type { Deps } from "#deps";
import { claimBody, parseBody, receiveBody } from "#http/body";
import { Refusal } from "#http/errors";
import { exchangeOf, hideContext, peerAddress } from "#http/exchange";
import { Empty, Unauthorized } from "#http/schema";
import { findKeyOwner, hasNoKey, openIngestKeys } from "#modules/governance/ingest-keys/queries";
import type { Actor, Scope } from "#modules/people/audit/queries";
import { isUuid } from "#text/uuid";

const TOLERANCE = 300;

const SenderHeaders = t.Object({
  "webhook-id": t.Optional(t.String({ minLength: 1, maxLength: 200, description: "Names the delivery: one that was taken before adds nothing." })),
  "webhook-timestamp": t.Optional(t.String({ description: "Seconds since 1970, part of a Standard Webhooks signature" })),
  "webhook-signature": t.Optional(t.String({ description: "A Standard Webhooks signature with an ingest key, in place of a bearer token" })),
});

type Context = { request: Request; body: unknown };
/** Returns who sent these bytes; throws where no signature proves it. */
type Proof = (bytes: Uint8Array) => Actor;

/** A sender of metrics: `scope` says for which organization. It proves itself by an ingest key, sent or signed with. */
export const ingestKey = (deps: Deps) =>
  new Elysia({ name: "ingest-key" })
    .guard({ as: "scoped", headers: SenderHeaders, response: { 401: Unauthorized(["ingestKey"], ["ingestSignature"], []), 403: Empty } })
    .derive(
      { as: "scoped" },
      hideContext(async (context: Context) => ({ scope: await enter(deps, context) })),
    );

async function enter(deps: Deps, context: Context): Promise<Scope> {
  const { request } = context;
  const exchange = exchangeOf(request);
  const organizationId = exchange.pathOrganizationId?.toLowerCase() ?? "";
  const prove = await chooseProof(deps, organizationId, request);
  const bytes = await receiveBody(request);
  const actor = prove(bytes);
  await parseBody(context, bytes);
  const scope: Scope = { organizationId, actor, requestId: exchange.id };
  exchange.scope = scope;
  await claimBody(request, bytes);
  return scope;
}

function chooseProof(deps: Deps, organizationId: string, request: Request) {
  if (request.headers.has("authorization")) return proveByKey(deps, organizationId, request);
  if (!isUuid(organizationId)) throw new Refusal(401, "there is no such organization");
  if (request.headers.has("webhook-signature")) return proveBySignature(deps, organizationId, request);
  if (!deps.isTrustedGateway(request)) throw new Refusal(401, "there is no ingest key");
  deps.limits.charge(request, { type: "gateway" }, `${peerAddress(request)} ${organizationId}`);
  return proveByNetwork(deps, organizationId);
}

async function proveByKey({ sql, limits }: Deps, organizationId: string, request: Request): Promise<Proof> {
  const owner = await findKeyOwner(sql, bearerToken(request) ?? "");
  if (!owner) throw new Refusal(401, "no ingest key is this one");
  limits.charge(request, { type: "ingest-key", id: owner.id });
  if (owner.organizationId !== organizationId) throw new Refusal(403, "", {}, "the ingest key is another organization's");
  return () => ({ type: "ingest-key", id: owner.id });
}

/** Checks everything that can be refused without the body before it is read. */
async function proveBySignature({ sql, config, clock, limits }: Deps, organizationId: string, request: Request): Promise<Proof> {
  const text = (name: string) => request.headers.get(name) ?? "";
  const signed = { "webhook-id": text("webhook-id"), "webhook-timestamp": text("webhook-timestamp"), "webhook-signature": text("webhook-signature") };
  const keys = isRecent(signed["webhook-timestamp"], clock()) ? await openIngestKeys(sql, config.keyring, organizationId) : [];
  if (keys.length === 0) throw new Refusal(401, "the signature's time is not now, or the organization has no ingest key");
  return (bytes) => {
    const signer = keys.find(({ key }) => isSignedWith(key, bytes, signed));
    if (!signer) throw new Refusal(401, "the signature is of no ingest key of the organization");
    limits.charge(request, { type: "ingest-key", id: signer.id });
    return { type: "ingest-key", id: signer.id };
  };
}

const isRecent = (timestamp: string, now: Date) => /^\d{1,12}$/.test(timestamp) && Math.abs(now.getTime() / 1_000 - Number(timestamp)) <= TOLERANCE;

function isSignedWith(key: string, bytes: Uint8Array, headers: Record<string, string>) {
  try {
    new Webhook(key).verify(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), headers, { jsonParse: false });
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

/** Without any credential: only until the organization has its first key. */
async function proveByNetwork({ sql }: Deps, organizationId: string): Promise<Proof> {
  if (!(await hasNoKey(sql, organizationId))) throw new Refusal(401, "there is no ingest key");
  return () => ({ type: "gateway" });
}
