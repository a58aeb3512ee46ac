import { requestComponents } from "#crypto/agent-messages";
import { generateKeyPair, readPrivateKey } from "#crypto/ed25519";
import { signMessage } from "#crypto/message-signature";
import { call, type Wish } from "./call";
import type { TestOrganization } from "./people";

type Signed = { method: string; path: string; token?: string | undefined; raw?: string | Uint8Array | undefined; at?: Date; nonce?: string };

/** A host with a key pair of its own, that signs what it asks. */
export function newHost() {
  const pair = generateKeyPair();
  const key = readPrivateKey(pair.privateKey);

  /** The header fields of a signed request: its credential, when it was signed, and over what. */
  function sign({ method, path, token, raw, at = new Date(), nonce = Bun.randomUUIDv7("hex", at) }: Signed): Record<string, string> {
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    const body = method === "GET" || method === "HEAD" ? undefined : (raw ?? "");
    const components = requestComponents({ method, path, nonce, authorization, body });
    return {
      ...(authorization !== undefined && { authorization }),
      "certitude-path": path,
      "certitude-nonce": nonce,
      ...Object.fromEntries(components.filter(([name]) => name === "content-digest")),
      ...signMessage(components, { publicKey: pair.publicKey, key }, Math.floor(at.getTime() / 1_000)),
    };
  }

  /** A signed request. */
  function send(method: string, path: string, { token, body, at, nonce, headers, ...rest }: Wish & Pick<Signed, "at" | "nonce"> = {}) {
    const raw = body === undefined ? undefined : JSON.stringify(body);
    const signed = sign({ method, path, token, raw, ...(at && { at }), ...(nonce !== undefined && { nonce }) });
    return call(method, path, {
      ...rest,
      headers: { ...(raw !== undefined && { "content-type": "application/json" }), ...signed, ...headers },
      ...(raw !== undefined && { raw }),
    });
  }

  return { ...pair, sign, call: send };
}

export type TestHost = ReturnType<typeof newHost>;

/** A join token of the organization. */
export async function newJoinToken(organization: TestOrganization, body: object = {}) {
  const answer = await organization.admin("POST", "/join-tokens", { body });
  if (answer.status !== 201) throw new Error(`making a join token was answered ${answer.status}: ${answer.text}`);
  return answer.body as { id: string; token: string; uses: number; maxUses: number };
}

/** A host that has joined an organization; `ask` asks with its credential. */
export async function newJoinedHost(organization: TestOrganization, { labels = {}, name = "web-01" }: { labels?: Record<string, string>; name?: string } = {}) {
  const host = newHost();
  const { token } = await newJoinToken(organization, { labels });
  const { status, body, text } = await host.call("POST", "/agent/join", { token, body: { name } });
  if (status !== 201) throw new Error(`joining was answered ${status}: ${text}`);
  const { agentId, credential, signingKey } = body as { agentId: string; credential: string; signingKey: string };
  const ask = (method: string, path: string, wish: Wish & { at?: Date; nonce?: string } = {}) => host.call(method, path, { token: credential, ...wish });
  return { ...host, ask, id: agentId, credential, signingKey, path: `/agents/${agentId}`, assignments: `/agents/${agentId}/assignments` };
}
