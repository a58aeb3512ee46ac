import { bearerToken } from "#auth/authenticate";
import { mintToken } from "#auth/mint-token";
import { discover } from "#auth/oidc";
import type { Deps } from "#deps";
import { Refusal } from "#http/errors";

/** How the page signs a person in at the identity provider. */
type Provider = {
  issuer: string;
  clientId: string;
  /** The audience of the tokens that the API takes. */
  audience: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  /** The id token is for the client itself; where the API asks for that, it is the one. */
  token: "id_token" | "access_token";
};

/** Of a token that a one-time code is exchanged for, in seconds. */
const TOKEN_TTL = 12 * 3_600;
/** Milliseconds until the provider is asked once more where its endpoints are. */
const MAX_AGE_MS = 600_000;
/** Milliseconds for which a failure is remembered: anyone may load the page. */
const FAILED_MS = 30_000;

/**
 * Returns where people sign in, asked of the provider now and then, by one call at a time; undefined without a client, or
 * without an answer yet.
 */
export function createProviderLookup({ config, log }: Pick<Deps, "config" | "log">) {
  const { oidcIssuer, oidcClientId, jwtAudience = "" } = config;
  let found: Provider | undefined;
  let asking: Promise<void> | undefined;
  let askAgainAt = Number.NEGATIVE_INFINITY;

  async function find() {
    if (!oidcIssuer || !oidcClientId) return;
    if (performance.now() >= askAgainAt) asking ??= ask(oidcIssuer, oidcClientId);
    if (!found) await asking; // else what was found before will do until the answer is there
    return found;
  }

  async function ask(oidcIssuer: string, oidcClientId: string) {
    let restMs = FAILED_MS;
    try {
      const endpoints = await discover(oidcIssuer, ["authorization_endpoint", "token_endpoint"]);
      restMs = MAX_AGE_MS;
      found = {
        issuer: oidcIssuer,
        clientId: oidcClientId,
        audience: jwtAudience,
        authorizationEndpoint: endpoints.authorization_endpoint,
        tokenEndpoint: endpoints.token_endpoint,
        token: oidcClientId === jwtAudience ? "id_token" : "access_token",
      };
    } catch (error) {
      log.warn({ err: error }, "asking the identity provider for its endpoints failed; it is asked again in half a minute");
    } finally {
      askAgainAt = performance.now() + restMs;
      asking = undefined;
    }
  }
  return find;
}

/** A user token for the bearer of a one-time code, or 401. */
export async function exchangeCode(deps: Pick<Deps, "config" | "oneTimeCodes">, request: Request) {
  const holder = deps.oneTimeCodes.use(bearerToken(request) ?? "");
  const token = holder && (await mintToken(deps, { ...holder, ttl: TOKEN_TTL }));
  if (!token) throw new Refusal(401, "the one-time code is not known, was used or has ended");
  return { token };
}
