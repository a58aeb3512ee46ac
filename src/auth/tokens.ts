import { jwt } from "@elysiajs/jwt";
import { decodeProtectedHeader, type JWTPayload, type JWTVerifyOptions } from "jose";
import type { Logger } from "pino";
import type { Cluster } from "#cluster/channel";
import type { Config } from "#config";
import { sha256 } from "#crypto/sha256";
import type { Pool } from "#db/connect";
import { saveUser } from "#modules/people/users/queries";
import { isUuid } from "#text/uuid";
import { createOidcVerifier, OIDC_ALGORITHMS } from "./oidc";
import { createRevocations } from "./revocations";

/** The user behind a verified token. */
export type Caller = { userId: string; email: string | null; emailVerified: boolean; name: string | null; tokenHash: string; expiresAt: Date };
type Claims = JWTPayload & { sub: string; exp: number };
export type Tokens = ReturnType<typeof createTokens>;

const MAX_TOKEN = 8 * 1024;
const MAX_CACHED = 10_000;
const SKEW = 30;

type TokenDeps = { config: Config; sql: Pool; log: Logger; clock: () => Date; cluster: Cluster };

/** Verifies user tokens, once each: a verified token is remembered until it expires, is signed out, or the provider's keys change. */
export function createTokens({ config, sql, log, clock, cluster }: TokenDeps) {
  const { jwtSecret, oidcIssuer, jwtAudience } = config;
  let known = new Map<string, Caller>();
  const revocations = createRevocations(sql, cluster);
  const local = jwtSecret && jwt({ secret: jwtSecret }).decorator.jwt;
  const provider =
    oidcIssuer &&
    createOidcVerifier(oidcIssuer, {
      clock,
      onChange: () => {
        known = new Map();
      },
      onFailure: (error) => log.warn({ err: error }, "fetching the identity provider's keys failed"),
    });

  async function verifySignature(token: string): Promise<JWTPayload | false> {
    const options: JWTVerifyOptions = { clockTolerance: SKEW, currentDate: clock(), requiredClaims: ["exp", "sub"] };
    if (jwtAudience) options.audience = jwtAudience;
    const { alg, typ } = decodeProtectedHeader(token);
    if (!isAccessToken(typ)) return false;
    if (alg === "HS256") return local ? local.verify(token, { ...options, algorithms: ["HS256"] }) : false;
    return provider ? provider.verify(token, { ...options, algorithms: OIDC_ALGORITHMS, issuer: [oidcIssuer, `${oidcIssuer}/`] }) : false;
  }

  async function admit(token: string, key: string) {
    const cache = known; // when the keys change meanwhile, this answer belongs to the old ones
    const claims = await verifySignature(token).catch(refusedUnless503);
    if (!claims || !isComplete(claims)) return;
    const caller = readCaller(claims, sha256(signedPart(token), "base64"));
    await saveUser(sql, caller);
    if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value as string);
    cache.set(key, caller);
    return caller;
  }

  /** Returns the caller, or undefined when the token is not valid. */
  async function verify(token: string) {
    if (token.length > MAX_TOKEN) return;
    if (provider) provider.keepFresh();
    const key = sha256(token, "base64");
    let caller = known.get(key);
    if (caller && caller.expiresAt.getTime() + SKEW * 1000 <= clock().getTime()) {
      known.delete(key);
      caller = undefined;
    }
    caller ??= await admit(token, key);
    if (caller && !(await revocations.has(caller.tokenHash))) return caller;
  }

  const signOut = ({ tokenHash, expiresAt, userId }: Caller, requestId: string) =>
    revocations.add(tokenHash, new Date(expiresAt.getTime() + SKEW * 1000), userId, requestId);

  return { verify, signOut };
}

/** Sign-out goes by header and claims alone: one signature can be written in several ways that all verify. */
const signedPart = (token: string) => token.slice(0, token.lastIndexOf("."));

function isComplete(claims: JWTPayload): claims is Claims {
  const { sub, exp } = claims;
  return typeof sub === "string" && sub !== "" && sub.isWellFormed() && exp !== undefined;
}

/** RFC 8725, 3.11: a token of another kind, such as `logout+jwt`, is none for us. `typ` is a media type (RFC 7515, 4.1.9). */
const isAccessToken = (typ: unknown) => typ === undefined || (typeof typ === "string" && /^(application\/)?(at\+)?jwt$/i.test(typ));

/** A faulty token is no failure of the server; an unreachable provider is. */
function refusedUnless503(error: unknown) {
  if (error instanceof Error && "status" in error && error.status === 503) throw error;
  return false as const;
}

/** The namespace of user ids made from an issuer and a subject. */
const USERS = "6f1c7b0a-52d8-4a39-9d0e-6b1f0c5a7e21";
/** A token that lives longer counts as this long: Postgres reads no year of five digits. In seconds. */
const LAST_EXPIRY = Date.UTC(9999, 0) / 1000;
const MAX_CLAIM = 254;

function readCaller(claims: Claims, tokenHash: string): Caller {
  return {
    userId: isUuid(claims.sub) ? claims.sub.toLowerCase() : Bun.randomUUIDv5(`${claims.iss ?? ""} ${claims.sub}`, USERS),
    email: readEmail(claims.email),
    emailVerified: claims.email_verified === true,
    name: claimText(claims.name)?.slice(0, MAX_CLAIM) ?? null,
    tokenHash,
    expiresAt: new Date(Math.min(claims.exp, LAST_EXPIRY) * 1000),
  };
}

/** One that is too long is no address; cut short, it might be another user's. */
function readEmail(claim: unknown) {
  const email = claimText(claim)?.toLowerCase();
  return email !== undefined && email.length <= MAX_CLAIM ? email : null;
}

/** A claim fit for a column of text. */
function claimText(claim: unknown) {
  return typeof claim === "string" && claim.isWellFormed() && !claim.includes("\0") ? claim.trim() || null : null;
}
