import { sha256 } from "#crypto/sha256";
import type { Call } from "#outbound/call";
import { codeOf, describeFailure } from "#outbound/failure";
import { send } from "#outbound/http-client";
import { errorOf, isRecord, Problem, readJson, Unusable } from "../rules/problems";
import type { AcmeSettings } from "../rules/settings";
import type { AccountKey } from "./account-key";

const CALL_MS = 15_000;
const DIRECTORY_MS = 3_600_000;
/** How often a request is signed again because its nonce was rejected. */
const MAX_NONCES = 8;
const KEPT_NONCES = 32;
const KEPT_SESSIONS = 1_000;
const NONCE = /^[\w-]{1,512}$/;
/** Of what a CA may answer where a chain is asked for. */
const MAX_CHAIN = 262_144;

/** The memory of a process of a directory, for one issuer. */
type Session = { directory?: { value: Directory; until: number } | undefined; nonces: string[] };
export type Directory = Record<"newNonce" | "newAccount" | "newOrder", string> & {
  revokeCert?: string;
  keyChange?: string;
  renewalInfo?: string;
  meta: { termsOfService?: string; externalAccountRequired: boolean; profiles?: Record<string, unknown> };
};

/** Sessions of the directories that this process speaks with, by issuer. */
export type Sessions = Map<string, Session>;

type Reached = { organizationId: string; id: string; settings: Pick<AcmeSettings, "directoryUrl" | "caBundlePem"> };
export type Limits = { allowPrivate: boolean; signal: AbortSignal; clock: () => Date };
export type Answer = {
  json: Record<string, unknown>;
  body: string;
  url: string;
  location: string | undefined;
  link: string | undefined;
  retryAfter: string | undefined;
};
/** A signer: an account by its address, or a key that the CA is to know by itself. */
export type Signer = { key: AccountKey; accountUrl?: string };
export type Client = ReturnType<typeof createClient>;

/** Speaks ACME with one directory (RFC 8555, 6), all of it through `outbound`. */
export function createClient(sessions: Sessions, { organizationId, id, settings }: Reached, { allowPrivate, signal, clock }: Limits) {
  const { directoryUrl, caBundlePem } = settings;
  const session = sessionOf(sessions, [organizationId, id, sha256(`${directoryUrl} ${caBundlePem}`)].join(" "));

  /** One HTTP request, whatever its answer. */
  async function call(method: string, address: string, options: Pick<Call, "body"> & { accept?: string; maxBytes?: number } = {}) {
    const url = URL.parse(address, directoryUrl);
    if (!url || (url.protocol !== "https:" && url.protocol !== URL.parse(directoryUrl)?.protocol))
      throw new Unusable("The CA names an address that is not https.", true);
    const { body, accept = "application/json, application/problem+json", maxBytes } = options;
    const headers = {
      accept,
      "user-agent": "certitude",
      ...(body !== undefined && { "content-type": "application/jose+json", "content-length": String(Buffer.byteLength(body)) }),
    };
    const ended = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    try {
      const tls = caBundlePem === undefined ? {} : { tls: { ca: caBundlePem } };
      const reply = await send({ method, url, headers, body, ...tls }, { allowPrivate, signal: ended, ...(maxBytes && { maxBytes }) });
      const nonce = reply.headers["replay-nonce"];
      if (typeof nonce === "string" && NONCE.test(nonce) && session.nonces.length < KEPT_NONCES) session.nonces.push(nonce);
      return reply;
    } catch (error) {
      signal.throwIfAborted();
      session.directory = undefined; // it may lead elsewhere by now
      throw unreached(error, ended.aborted, maxBytes);
    }
  }

  async function ask(method: string, url: string, options: Parameters<typeof call>[2] = {}): Promise<Answer> {
    const reply = await call(method, url, options);
    const { status, body, headers, retryAfter } = reply;
    if (status < 200 || status > 299) throw errorOf(reply, clock());
    const { location, link } = headers as Record<string, string | undefined>;
    const json = readJson(body);
    if (!json && body !== "" && !options.accept) throw new Unusable("The CA answered with something that is not JSON.", true);
    return { json: json ?? {}, body, url, location: location && URL.parse(location, url)?.href, link, retryAfter };
  }

  async function directory(): Promise<Directory> {
    const now = clock().getTime();
    if (!session.directory || session.directory.until < now) {
      const { json } = await ask("GET", directoryUrl);
      session.directory = { value: readDirectory(json), until: now + DIRECTORY_MS };
    }
    return session.directory.value;
  }

  async function nonce() {
    const kept = session.nonces.pop();
    if (kept) return kept;
    const { newNonce } = await directory();
    const reply = await call("HEAD", newNonce);
    const fresh = session.nonces.pop();
    if (fresh) return fresh;
    throw reply.status >= 400 ? errorOf(reply, clock()) : new Unusable("The CA gives no nonce.", true);
  }

  /** Asks for a nonce, and keeps it. Throws where the CA is away. */
  async function reach() {
    const { newNonce } = await directory();
    await call("HEAD", newNonce);
  }

  /** A signed request; without a payload it only asks (POST-as-GET). A rejected nonce is replaced by the one of the rejection. */
  async function post(url: string, payload: object | undefined, signer: Signer, isChain = false): Promise<Answer> {
    const { key, accountUrl } = signer;
    const chain = isChain ? { accept: "application/pem-certificate-chain", maxBytes: MAX_CHAIN } : {};
    for (let rejected = 0; ; rejected++) {
      const header = { nonce: await nonce(), url, ...(accountUrl === undefined ? { jwk: key.publicJwk } : { kid: accountUrl }) };
      try {
        return await ask("POST", url, { body: JSON.stringify(await key.sign(payload, header)), ...chain });
      } catch (error) {
        if (!(error instanceof Problem) || error.type !== "badNonce" || rejected === MAX_NONCES) throw error;
      }
    }
  }

  return { directory, reach, get: (url: string) => ask("GET", url), post };
}

function sessionOf(sessions: Sessions, key: string) {
  const session = sessions.get(key) ?? { nonces: [] };
  sessions.delete(key);
  sessions.set(key, session); // the last of the map is the one that was used last
  const [oldest] = sessions.keys();
  if (sessions.size > KEPT_SESSIONS && oldest !== undefined) sessions.delete(oldest);
  return session;
}

function unreached(error: unknown, isLate: boolean, maxBytes = 65_536) {
  const code = codeOf(error);
  if (code === "TOO_LARGE") return new Unusable(`The CA answered with more than ${maxBytes / 1_024} KiB.`, true);
  if (isLate) return new Unusable(`The CA did not answer within ${CALL_MS / 1_000} seconds.`, false);
  return new Unusable(`The CA could not be asked. ${describeFailure(error)}`, code === "PRIVATE_TARGET");
}

function readDirectory(json: Record<string, unknown>): Directory {
  const { newNonce, newAccount, newOrder } = json;
  if (typeof newNonce !== "string" || typeof newAccount !== "string" || typeof newOrder !== "string")
    throw new Unusable("There is no ACME directory at directoryUrl: newNonce, newAccount or newOrder is missing.", true);
  const meta = isRecord(json.meta) ? json.meta : {};
  const optional = Object.fromEntries(
    ["revokeCert", "keyChange", "renewalInfo"].flatMap((name) => (typeof json[name] === "string" ? [[name, json[name]]] : [])),
  );
  return {
    newNonce,
    newAccount,
    newOrder,
    ...optional,
    meta: {
      ...(typeof meta.termsOfService === "string" && { termsOfService: meta.termsOfService }),
      externalAccountRequired: meta.externalAccountRequired === true,
      ...(isRecord(meta.profiles) && { profiles: meta.profiles }),
    },
  };
}
