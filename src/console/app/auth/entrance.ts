import { signal } from "@preact/signals";
import { address, read, write } from "../api";
import { toError } from "../errors";
import type { OnServer } from "../operations";
import { parsePlace } from "../router";
import { endSession, signInNotice } from "./session";
import { enterWith } from "./sign-in-with";

/** How the server says that people sign in elsewhere. */
export type Provider = NonNullable<OnServer<["console", "sign-in"]>["provider"]>;
type Attempt = { state: string; verifier: string; fragment: string; provider: Provider };

const ATTEMPT = "certitude-sign-in";
const INVITATION = "certitude-invitation";

/** True while a link or the provider's answer is exchanged for a token. */
export const isEntering = signal(false);

/** Reads what the page was opened with: a one-time link, the provider's answer, or an invitation. None of it stays in the address. */
export async function enter() {
  const search = new URLSearchParams(location.search);
  const [, code] = parsePlace(location.hash).path.split("enter/");
  try {
    isEntering.value = true;
    if (search.has("invitation")) keepInvitation();
    else if (search.has("state")) await finishAttempt(search);
    else if (location.hash.startsWith("#/enter/") && code) await useCode(code);
  } catch (error) {
    endSession(toError(error).message);
  } finally {
    isEntering.value = false;
  }
}

const clean = (fragment: string) => {
  history.replaceState(null, "", `${location.pathname}${fragment}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
};

/** The token of an invitation that was opened, until it is accepted. */
export const invitation = () => sessionStorage.getItem(INVITATION);
const forgetInvitation = () => sessionStorage.removeItem(INVITATION);

function keepInvitation() {
  const token = location.hash.slice(1);
  if (/^[\w.-]+$/.test(token)) sessionStorage.setItem(INVITATION, token);
  clean("#/invitation");
}

async function useCode(code: string) {
  clean("#/");
  const answer = await fetch("sign-in", { method: "POST", headers: { authorization: `Bearer ${code}` } });
  if (!answer.ok) throw new Error("This link was used before, or has ended. Start the server's demo again for a new one, or paste a token.");
  const { token } = await answer.json();
  await enterWith(token);
}

export const findProvider = async () => (await read(address("console", "sign-in"))).provider;

/** Leads to the provider (RFC 6749 with RFC 7636); it leads back here. */
export async function startAttempt(provider: Provider) {
  if (!isSecureContext) throw new Error("Signing in at the identity provider needs https. Open the console by its https address.");
  const attempt: Attempt = { state: random(), verifier: random(), fragment: location.hash, provider };
  sessionStorage.setItem(ATTEMPT, JSON.stringify(attempt));
  const challenge = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier)));
  const page = new URL(provider.authorizationEndpoint);
  const parameters = {
    response_type: "code",
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    scope: "openid email profile",
    state: attempt.state,
    code_challenge: base64url(challenge),
    code_challenge_method: "S256",
    ...targetOf(provider),
  };
  for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
  location.assign(page);
}

async function finishAttempt(answer: URLSearchParams) {
  const kept = sessionStorage.getItem(ATTEMPT);
  sessionStorage.removeItem(ATTEMPT);
  const attempt: Attempt | null = kept === null ? null : JSON.parse(kept);
  clean(attempt?.fragment || "#/");
  if (!attempt || attempt.state !== answer.get("state")) throw new Error("This sign-in was not begun in this tab. Begin it again here.");
  const refusal = answer.get("error_description") ?? answer.get("error");
  if (refusal) throw new Error(`The identity provider refused: ${refusal}`);
  await enterWith(await fetchToken(attempt, answer.get("code") ?? ""));
}

async function fetchToken({ provider, verifier }: Attempt, code: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    code_verifier: verifier,
    ...targetOf(provider),
  });
  const answer = await fetch(provider.tokenEndpoint, { method: "POST", body }).catch(() => {
    throw new Error("The identity provider cannot be reached from here. Its token endpoint must allow this page's origin (CORS).");
  });
  const tokens = await answer.json();
  const token = tokens[provider.token];
  if (!answer.ok || typeof token !== "string")
    throw new Error(`The identity provider gave no token: ${tokens.error_description ?? tokens.error ?? answer.status}`);
  return token;
}

/** For an access token: whom it is for. `resource` (RFC 8707) must be an address; some providers read `audience` instead. */
const targetOf = ({ token, audience }: Provider): Record<string, string> =>
  token === "id_token" ? {} : { audience, ...(URL.canParse(audience) && { resource: audience }) };

const redirectUri = () => `${location.origin}${location.pathname}`;
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

export async function acceptInvitation() {
  const accepted = await write("POST", address("invitations", "accept"), { body: { token: invitation() } });
  forgetInvitation();
  signInNotice.value = "";
  return accepted.organizationId;
}
