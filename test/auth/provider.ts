import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";

export const AUDIENCE = "https://certitude.example";
const CLIENT = "portal";
/** A public client, for a page in a browser. */
export const PUBLIC_CLIENT = "console";
const SECRET = "a secret of the portal, known to the provider";
const CALLBACK = "https://portal.example/callback";

/** A private key as the provider keeps it; it publishes the public half. */
export async function newKey(alg: string): Promise<JWK & { alg: string; kid: string }> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, use: "sig", kid: crypto.randomUUID() };
}

/** A real identity provider on loopback. It can be stopped and resumed, publish other keys, and counts who asks for them. */
export async function startProvider(...keys: JWK[]) {
  let fetches = 0;
  let redirectUris: string[] = [];
  let provider: Provider;
  const server = createServer((request, response) => {
    if (request.url === "/jwks") fetches++;
    if (request.url?.startsWith("/interaction/")) signIn(provider, request, response);
    else provider.callback()(request, response);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const publish = (...published: JWK[]) => {
    provider = new Provider(issuer, configure(published, redirectUris));
  };
  publish(...keys);
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  /** Lets the public client come back to these addresses. */
  function register(...uris: string[]) {
    redirectUris = uris;
    publish(...keys);
  }
  return {
    issuer,
    port,
    register,
    publish,
    fetches: () => fetches,
    stop,
    resume: () => listen(port),
    [Symbol.asyncDispose]: stop,
    /** The access token of a user who signs in at the provider. */
    token: (user: string, { alg = "RS256", audience = AUDIENCE } = {}) => signInWithCode(issuer, user, `${audience}/?alg=${alg}`),
  };
}

function configure(keys: JWK[], redirect_uris: string[]) {
  const page = { client_id: PUBLIC_CLIENT, token_endpoint_auth_method: "none", redirect_uris, id_token_signed_response_alg: keys[0]?.alg };
  return {
    jwks: { keys },
    cookies: { keys: ["a key of the provider's cookies"] },
    clients: [
      { client_id: CLIENT, client_secret: SECRET, redirect_uris: [CALLBACK], id_token_signed_response_alg: keys[0]?.alg },
      ...(redirect_uris.length > 0 ? [page] : []),
    ],
    clientBasedCORS: () => true,
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_: unknown, { accountId }: { accountId: string }) => ({ email: `${accountId}@provider.example`, name: "Grace Hopper" }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    ttl: { AccessToken: 3_600, AuthorizationCode: 60, Grant: 3_600, IdToken: 3_600, Interaction: 60, Session: 3_600 },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "use",
          audience: new URL(resource).origin,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: new URL(resource).searchParams.get("alg") ?? "RS256" } },
        }),
      },
    },
  };
}

/** The provider's own page, where a person would type a name and agree. */
async function signIn(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const { params } = await provider.interactionDetails(request, response);
  const { client_id: clientId = "", login_hint: accountId = "grace", resource } = params;
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope("openid email profile");
  if (resource) grant.addResourceScope(resource, "use");
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId: await grant.save() } });
}

/** The authorization-code flow with PKCE, as a browser and the portal's backend go through it. */
async function signInWithCode(issuer: string, user: string, resource: string) {
  const verifier = crypto.randomUUID() + crypto.randomUUID();
  const cookies = new Map<string, string>();
  const query = new URLSearchParams({
    client_id: CLIENT,
    response_type: "code",
    scope: "openid use",
    redirect_uri: CALLBACK,
    login_hint: user,
    resource,
    code_challenge: new Bun.CryptoHasher("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  let location = `${issuer}/auth?${query}`;
  while (!location.startsWith(CALLBACK)) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const answer = await fetch(location, { redirect: "manual", headers: { cookie } });
    for (const { name, value } of answer.headers.getSetCookie().map((each) => Bun.Cookie.parse(each))) cookies.set(name, encodeURIComponent(value));
    const next = answer.headers.get("location");
    if (!next) throw new Error(`${location} answered ${answer.status}: ${await answer.text()}`);
    location = new URL(next, issuer).href;
  }
  const code = new URL(location).searchParams.get("code") ?? "";
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${CLIENT}:${encodeURIComponent(SECRET)}`)}` },
    body: new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: CALLBACK, code_verifier: verifier }),
  });
  const { access_token, error_description } = (await answer.json()) as { access_token?: string; error_description?: string };
  if (!access_token) throw new Error(`${location}: ${error_description}`);
  return access_token;
}
