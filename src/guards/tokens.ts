import { jwt } from "@elysiajs/jwt";
import { decodeProtectedHeader, type JWTPayload, type JWTVerifyOptions } from "jose";
import type { Deps } from "../deps";
import { saveUser } from "../modules/users/queries";
import { createOidcVerifier, OIDC_ALGORITHMS } from "./oidc";
import { createRevocations } from "./revocations";

/** The user behind a verified token. */
export type Caller = { userId: string; email: string | null; emailVerified: boolean; name: string | null; tokenHash: string; expiresAt: Date };
export type Tokens = ReturnType<typeof createTokens>;

const MAX_TOKEN = 8 * 1024;
const MAX_CACHED = 10_000;
const SKEW = 30;

/** Verifies user tokens, once each: a verified token is remembered until it expires, is signed out, or the provider's keys change. */
export function createTokens({ config, sql, log, clock }: Pick<Deps, "config" | "sql" | "log" | "clock">) {
  const { jwtSecret, oidcIssuer, jwtAudience } = config;
  const known = new Map<string, Caller>();
  const revocations = createRevocations(sql);
  const local = jwtSecret && jwt({ secret: jwtSecret }).decorator.jwt;
  const provider =
    oidcIssuer &&
    createOidcVerifier(oidcIssuer, {
      clock,
      onChange: () => known.clear(),
      onFailure: (error) => log.warn({ err: error }, "the identity provider's keys could not be fetched"),
    });

  async function verifySignature(token: string): Promise<JWTPayload | false> {
    const options: JWTVerifyOptions = { clockTolerance: SKEW, currentDate: clock(), requiredClaims: ["exp", "sub"] };
    if (jwtAudience) options.audience = jwtAudience;
    const { alg } = decodeProtectedHeader(token);
    if (alg === "HS256") return local ? local.verify(token, { ...options, algorithms: ["HS256"] }) : false;
    return provider ? provider(token, { ...options, algorithms: OIDC_ALGORITHMS, issuer: [oidcIssuer, `${oidcIssuer}/`] }) : false;
  }

  async function admit(token: string, tokenHash: string) {
    const claims = await verifySignature(token).catch(refusedUnless503);
    if (!claims || typeof claims.sub !== "string" || claims.sub === "" || claims.exp === undefined) return;
    const caller = readCaller(claims as JWTPayload & { sub: string; exp: number }, tokenHash);
    await saveUser(sql, caller);
    if (known.size >= MAX_CACHED) known.delete(known.keys().next().value as string);
    known.set(tokenHash, caller);
    return caller;
  }

  /** The caller, or undefined when the token proves nothing. */
  async function verify(token: string) {
    if (token.length > MAX_TOKEN) return;
    const tokenHash = new Bun.CryptoHasher("sha256").update(token).digest("base64");
    let caller = known.get(tokenHash);
    if (caller && caller.expiresAt.getTime() + SKEW * 1000 <= clock().getTime()) {
      known.delete(tokenHash);
      caller = undefined;
    }
    caller ??= await admit(token, tokenHash);
    if (caller && !(await revocations.has(tokenHash))) return caller;
  }

  const signOut = (caller: Caller) => revocations.add(caller.tokenHash, new Date(caller.expiresAt.getTime() + SKEW * 1000));

  return { verify, signOut };
}

/** A faulty token is nobody's failure; an unreachable provider is the server's. */
function refusedUnless503(error: unknown) {
  if (error instanceof Error && "status" in error && error.status === 503) throw error;
  return false as const;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The namespace of user ids made from an issuer and a subject. */
const USERS = "6f1c7b0a-52d8-4a39-9d0e-6b1f0c5a7e21";

function readCaller(claims: JWTPayload & { sub: string; exp: number }, tokenHash: string): Caller {
  return {
    userId: UUID.test(claims.sub) ? claims.sub.toLowerCase() : Bun.randomUUIDv5(`${claims.iss ?? ""} ${claims.sub}`, USERS),
    email: claimText(claims.email)?.toLowerCase() ?? null,
    emailVerified: claims.email_verified !== false,
    name: claimText(claims.name),
    tokenHash,
    expiresAt: new Date(claims.exp * 1000),
  };
}

/** A claim fit for a column of text. */
function claimText(claim: unknown) {
  return typeof claim === "string" && claim.isWellFormed() && !claim.includes("\0") ? claim.trim().slice(0, 254) || null : null;
}
