import { hostname } from "node:os";
import { generateKeyPair } from "#crypto/ed25519";
import type { Send, Sent } from "../transport";
import { Unreachable } from "../transport";
import { createSigner, inWords } from "./access";
import { type Identity, type IdentityFiles, isAccess } from "./identity-files";

type Wish = { server: string; token: string; name?: string | undefined; facts: object };

/**
 * Makes this host an agent, or gives its agent a new key, and pins the server's signing key. The key pair is saved first, so a
 * lost answer is asked for again without the token; throws in words.
 */
export async function joinServer({ server, token, name = hostname(), facts }: Wish, files: IdentityFiles, send: Send): Promise<Identity> {
  const begun = await files.readJoining();
  if (begun?.server === server) {
    const { status, joined } = await ask(begun, send, { method: "POST", path: "/agent/credentials" }, undefined);
    if (status === 201 && joined) return keep({ ...joined, ...begun }, joined.signingKey, files);
  }
  const key = { server, ...generateKeyPair() };
  await files.saveJoining(key);
  const request = {
    method: "POST",
    path: "/agent/join",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: name.slice(0, 120), host: facts }),
  };
  const { status, joined, message } = await ask(key, send, request, token);
  if (status === 201 && joined) return keep({ ...joined, ...key }, joined.signingKey, files);
  await files.forgetJoining();
  throw new Unreachable(refusalOf(server, status, message));
}

async function keep({ signingKey: _, ...identity }: Identity & { signingKey?: string }, signingKey: string, files: IdentityFiles) {
  const { organizationId, agentId } = identity;
  await files.saveTrustedKey({ organizationId, agentId, publicKey: signingKey });
  await files.saveIdentity(identity);
  await files.forgetJoining();
  return identity;
}

/** Sends a request that the new key signs; by the server's time, where this host's clock is off. */
async function ask(key: { publicKey: string; privateKey: string }, send: Send, request: Sent, token: string | undefined) {
  const signer = createSigner(key);
  let response = await send(signer.sign(request, token).signed);
  const offset = response.status === 401 ? signer.adopt(response) : undefined;
  if (offset !== undefined) {
    console.error(`This host's clock is ${inWords(offset)} the server's: set it. The request was signed by the server's time.`);
    response = await send(signer.sign(request, token).signed);
  }
  const body: unknown = await response.json().catch(() => undefined);
  const message = body instanceof Object && "message" in body && typeof body.message === "string" ? body.message : undefined;
  return { status: response.status, message, joined: response.status === 201 && isAccess(body) ? body : undefined };
}

function refusalOf(server: string, status: number, message: string | undefined) {
  if (status === 401) return `${server} does not know this token (401): it was mistyped or deleted, or is of another server. Ask for another.`;
  if (status === 201) return `${server} answered something else than a credential. Is it a Certitude server?`;
  if (status === 404 || status === 405) return `${server} answered ${status}: it is no Certitude server, or one of a release without join tokens.`;
  return `${server} did not let this host join (${status}). ${message ?? ""}`.trim();
}
