import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from "jose";
import { Refusal } from "#http/errors";
import { boundedText } from "#outbound/bounded-text";
import { isSecureUrl } from "./secure-url";

const COOLDOWN = 30_000;
const MAX_AGE = 600_000;
/** For both documents, and shorter than a request may take. */
const TIMEOUT = 4_500;
/** Bytes of one document: key sets with chains of certificates have some 30 KB. */
const MAX_DOCUMENT = 1_048_576;

export const OIDC_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

type Watch = { clock: () => Date; onFailure: (error: unknown) => void; onChange: () => void };

/** Verifies tokens against the provider's published keys. The last good key set outlives an outage of the provider. */
export function createOidcVerifier(issuer: string, { clock, onFailure, onChange }: Watch) {
  let keys: JWTVerifyGetKey | undefined;
  let published = "";
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;
  const age = (moment: number) => clock().getTime() - moment;

  async function fetchKeys() {
    try {
      const set = await fetchKeySet(issuer);
      const text = JSON.stringify(set);
      const changed = text !== published;
      [keys, published, fetchedAt] = [createLocalJWKSet(set), text, clock().getTime()];
      if (changed) onChange();
    } catch (error) {
      onFailure(error);
    } finally {
      fetching = undefined;
    }
  }

  function refresh() {
    if (!fetching && age(triedAt) >= COOLDOWN) {
      triedAt = clock().getTime();
      fetching = fetchKeys();
    }
    return fetching;
  }

  /** To be called while tokens are in use, verified ones too: it looks for removed keys in the background. */
  function keepFresh() {
    if (keys && age(fetchedAt) > MAX_AGE) void refresh();
  }

  function away() {
    const wait = Math.max(1, Math.ceil((COOLDOWN - age(triedAt)) / 1000));
    return new Refusal(503, "The identity provider cannot be reached. Try again later.", { "retry-after": `${wait}` });
  }

  async function verify(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    if (!keys) await refresh();
    if (!keys) throw away();
    try {
      return await verifyWith(keys, token, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh(); // an unknown key may be a new one
      return verifyWith(keys, token, options);
    }
  }

  return { verify, keepFresh };
}

async function verifyWith(keys: JWTVerifyGetKey, token: string, options: JWTVerifyOptions) {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch(() => undefined);
      if (verified) return verified.payload;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

export async function fetchKeySet(issuer: string): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(TIMEOUT);
  const { jwks_uri } = await discover(issuer, ["jwks_uri"], signal);
  return fetchJson<JSONWebKeySet>(jwks_uri, signal);
}

/** Returns addresses of the provider's discovery document, all of them https. */
export async function discover<Name extends string>(issuer: string, names: Name[], signal = AbortSignal.timeout(TIMEOUT)) {
  const discovery = await fetchJson<Record<string, unknown>>(`${issuer}/.well-known/openid-configuration`, signal);
  const missing = names.filter((name) => typeof discovery[name] !== "string");
  if (`${discovery.issuer}`.replace(/\/$/, "") !== issuer || missing.length > 0)
    throw new Error(`OIDC_ISSUER ${issuer}: its discovery document names another issuer or no ${names.join(", ")}`);
  for (const name of names)
    if (!isSecureUrl(`${discovery[name]}`)) throw new Error(`OIDC_ISSUER ${issuer}: its discovery document names a ${name} that is not https`);
  return discovery as Record<Name, string>;
}

async function fetchJson<Json>(url: string, signal: AbortSignal) {
  // A redirect could lead away from https.
  const answer = await fetch(url, { signal, redirect: "error", headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return JSON.parse(answer.body ? await boundedText(answer.body, MAX_DOCUMENT) : "") as Json;
}
