import type { Logger } from "pino";
import { requestComponents } from "#crypto/agent-messages";
import { readPrivateKey } from "#crypto/ed25519";
import { signMessage } from "#crypto/message-signature";
import { type Send, type Sent, Unreachable } from "../transport";
import { type Identity, isCredential } from "./identity-files";

/** Returns the answer to a request that shows who asks, and the nonce that was sent with it: a signed answer names it. */
export type Ask = (request: Sent) => Promise<{ response: Response; nonce: string }>;

/** How the agent proves who it is. */
export type Access = {
  ask: Ask;
  /** The consequence when the server does not accept the identity; it follows the server's address in a sentence. */
  refused: string;
};

const HALF_A_DAY_MS = 12 * 3_600_000;
/** The clock error that is logged from here on: a signature counts for a minute. */
const NOTABLE_OFFSET_MS = 30_000;

/** By a long-lived token. */
export const tokenAccess = (token: () => string, send: Send): Access => ({
  async ask(request) {
    const nonce = Bun.randomUUIDv7();
    return { response: await send({ ...request, headers: { authorization: `Bearer ${token()}`, "certitude-nonce": nonce, ...request.headers } }), nonce };
  },
  refused: "does not accept the agent's token (401). Was the agent deleted? Enrol it again.",
});

type Keyed = { identity: Identity; save: (identity: Identity) => Promise<void>; send: Send; log: Logger };

/**
 * Proves the agent by a credential of a day and the host's key, which signs every request. The credential is renewed at half of
 * its life, and when the server does not know it; time is the server's.
 */
export function keyAccess({ identity, save, send, log }: Keyed): Access {
  let current = identity;
  const signer = createSigner(identity);

  /** Sends a signed request; where the server refuses its time, again by the server's. */
  async function ask(request: Sent, credential: string | undefined) {
    const { signed, nonce } = signer.sign(request, credential);
    const response = await send(signed);
    const offset = response.status === 401 ? signer.adopt(response) : undefined;
    if (offset === undefined) return { response, nonce };
    log.warn(
      { clockOffsetSeconds: Math.round(offset / 1_000) },
      `this host's clock is ${inWords(offset)} the server's: set it. Requests are signed by the server's time meanwhile`,
    );
    const again = signer.sign(request, credential);
    return { response: await send(again.signed), nonce: again.nonce };
  }

  async function renew() {
    const { response } = await ask({ method: "POST", path: "/agent/credentials" }, undefined);
    if (response.status !== 201) return false;
    const renewed: unknown = await response.json().catch(() => undefined);
    if (!isCredential(renewed)) {
      log.error("the server answered with a credential that no request can carry: it is not kept");
      return false;
    }
    const { credential, expiresAt, name } = renewed;
    current = { ...current, credential, expiresAt, name };
    await save(current);
    log.info({ expiresAt }, "credential renewed");
    return true;
  }

  /** By a new credential, where an earlier release has kept one that no request can carry. */
  async function askAfresh(request: Sent) {
    await renew();
    return ask(request, isCredential(current) ? current.credential : undefined);
  }

  return {
    async ask(request) {
      if (!isCredential(current)) return askAfresh(request);
      if (Date.parse(current.expiresAt) - signer.now() < HALF_A_DAY_MS) await renew().catch(ignoreUnreachable);
      const answer = await ask(request, current.credential);
      if (answer.response.status !== 401 || !(await renew())) return answer;
      return ask(request, current.credential);
    },
    refused:
      "accepts neither the agent's credential nor its key (401). Was the agent deleted, or given new credentials? Join again: certitude agent join --help",
  };
}

/** The request that follows meets the same server, and says why it cannot be reached. */
function ignoreUnreachable(error: unknown) {
  if (!(error instanceof Unreachable)) throw error;
}

/** Returns what signs requests with a key, by a clock that can be set to the server's. */
export function createSigner({ publicKey, privateKey }: { publicKey: string; privateKey: string }) {
  const key = readPrivateKey(privateKey);
  let offset = 0;
  let newest = 0;

  const now = () => Date.now() + offset;

  /** Nonces grow, also where the clock goes back. */
  function newNonce() {
    newest = Math.max(newest, now());
    return Bun.randomUUIDv7("hex", newest);
  }

  function sign({ method, path, headers, body }: Sent, credential: string | undefined): { signed: Sent; nonce: string } {
    const nonce = newNonce();
    const authorization = credential === undefined ? undefined : `Bearer ${credential}`;
    const components = requestComponents({ method, path, nonce, authorization, body: method === "GET" ? undefined : (body ?? "") });
    const proof = Object.fromEntries(components.filter(([name]) => !name.startsWith("@")));
    const signature = signMessage(components, { publicKey, key }, Math.floor(now() / 1_000));
    return { signed: { method, path, ...(body !== undefined && { body }), headers: { ...headers, ...proof, ...signature } }, nonce };
  }

  /**
   * Sets the clock by the answer of a server that refused the time. Returns by how many milliseconds this host's is ahead;
   * undefined where it is right.
   */
  function adopt(answer: Response) {
    const theirs = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isNaN(theirs) || Math.abs(now() - theirs) < NOTABLE_OFFSET_MS) return undefined;
    offset = theirs - Date.now();
    newest = 0;
    return -offset;
  }

  return { sign, now, adopt };
}

const UNITS: [string, number][] = [
  ["year", 365 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** "6 years ahead of", "2 minutes behind". */
export function inWords(offset: number) {
  const [unit = "second", size = 1_000] = UNITS.find(([, each]) => Math.abs(offset) >= each) ?? [];
  const count = Math.round(Math.abs(offset) / size);
  return `${count} ${count === 1 ? unit : `${unit}s`} ${offset > 0 ? "ahead of" : "behind"}`;
}
