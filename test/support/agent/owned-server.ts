import { openIdentityFiles } from "#agent/identity/identity-files";
import { joinServer } from "#agent/identity/join";
import type { Report } from "#agent/server-client";
import { stateComponents, writeStateHeader } from "#crypto/agent-messages";
import { generateKeyPair, readPrivateKey } from "#crypto/ed25519";
import { signMessage } from "#crypto/message-signature";
import { sha256 } from "#crypto/sha256";
import { transportTo } from "./connected-agent";

const DAY_MS = 86_400_000;

/** A desired state as the server sends it: whatever it likes, of which nothing needs to be true. */
export type AnyState = { items?: unknown[]; keep?: unknown[]; remove?: unknown[]; keys?: unknown[]; challenges?: unknown[]; [other: string]: unknown };

/** A server that was taken over: it holds the signing key of its organization, and sends its hosts whatever it likes, signed. */
export function startOwnedServer() {
  const { publicKey, privateKey } = generateKeyPair();
  const key = readPrivateKey(privateKey);
  const [organizationId, agentId] = [crypto.randomUUID(), crypto.randomUUID()];
  const reports: Report[] = [];
  /** Every request but those that are answered by signed states and taken reports. */
  const requests: { method: string; path: string; body: string }[] = [];
  let content = JSON.stringify({ items: [], keep: [] });
  let answerOtherwise: (request: Request, path: string) => Response | Promise<Response> | undefined = () => undefined;

  /** The header fields that make an answer to the request count as a desired state of the agent. */
  function signed(request: Request, text: string, status = 200) {
    const nonce = request.headers.get("certitude-nonce") ?? "";
    const header = writeStateHeader({ organizationId, agentId, tag: sha256(text), nonce });
    const components = stateComponents(status, header, text);
    return { "certitude-state": header, ...signMessage(components, { publicKey, key }, Math.floor(Date.now() / 1_000)) };
  }

  const identity = () => ({
    organizationId,
    agentId,
    name: "owned",
    credential: `cac_${"x".repeat(43)}`,
    expiresAt: new Date(Date.now() + DAY_MS).toISOString(),
    signingKey: publicKey,
  });

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      const other = await answerOtherwise(request, path);
      if (other) return other;
      if (path === "/agent/assignments") return new Response(content, { headers: { "content-type": "application/json", ...signed(request, content) } });
      const body = await request.text();
      if (path === "/agent/reports") {
        reports.push(...(JSON.parse(body) as { reports: Report[] }).reports);
        return new Response(null, { status: 204 });
      }
      requests.push({ method: request.method, path, body });
      return path === "/agent/join" ? Response.json(identity(), { status: 201 }) : new Response(null, { status: 204 });
    },
  });
  const url = `http://127.0.0.1:${server.port}`;

  return {
    url,
    organizationId,
    agentId,
    reports,
    requests,
    signed,
    /** Answers the requests for desired states by this from now on, as text to the letter. */
    send(state: AnyState | string) {
      content = typeof state === "string" ? state : JSON.stringify({ items: [], keep: [], ...state });
    },
    /** Answers requests by this where it answers any, in place of all else. */
    answer(otherwise: typeof answerOtherwise) {
      answerOtherwise = otherwise;
    },
    /** The last report of an assignment. */
    lastReport: (id: string) => reports.findLast(({ assignmentId }) => assignmentId === id),
    /** Makes an agent of the state directory, as `certitude agent join` does. */
    join: (stateDirectory: string) =>
      joinServer({ server: url, token: `caj_${"x".repeat(43)}`, name: "owned", facts: {} }, openIdentityFiles(stateDirectory), transportTo(url)),
    stop: () => server.stop(true),
  };
}

export type OwnedServer = ReturnType<typeof startOwnedServer>;
