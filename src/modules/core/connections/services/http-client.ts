import { lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { hostFault, isPublicAddress } from "../rules/address-policy";

const MAX_BODY = 65_536;

/** An error like those of the platform, which are told apart by their code. */
export const failure = (code: "PRIVATE_TARGET" | "TOO_LARGE" | "CERT_UNTRUSTED") => Object.assign(new Error(code), { code });

export type Tls = { ca?: string; cert?: string; key?: string; rejectUnauthorized?: boolean };
export type Call = { method: string; url: URL; headers: Record<string, string>; body?: string | undefined; tls: Tls };
export type Reply = { status: number; body: string };

/**
 * One HTTP request that follows no redirect and reads at most 64 KiB. Unless `allowPrivate`, it connects only to the
 * public addresses that its own look-up of the name gave, so that a name server cannot change its mind in between.
 */
export async function send({ method, url, headers, body, tls }: Call, allowPrivate: boolean, signal: AbortSignal): Promise<Reply> {
  if (!allowPrivate && hostFault(url.hostname)) throw failure("PRIVATE_TARGET"); // an address is never looked up
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const open = url.protocol === "https:" ? requestHttps : requestHttp;
  const options = { method, headers, signal, agent: false, ...(!allowPrivate && { lookup: lookUpPublic }), ...(url.protocol === "https:" && tls) };
  const request = open(url, options, resolve);
  request.on("error", reject);
  request.end(body);
  try {
    const answer = await promise;
    return { status: answer.statusCode ?? 0, body: await readText(answer) };
  } finally {
    request.destroy();
  }
}

async function readText(answer: IncomingMessage) {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > MAX_BODY) throw failure("TOO_LARGE");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** As dns.lookup, but a name that leads to any address which is not public leads nowhere. */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, []);
    const [first] = found;
    if (!first || found.some(({ address }) => !isPublicAddress(address))) return done(failure("PRIVATE_TARGET"), []);
    if (options.all) done(null, found);
    else done(null, first.address, first.family);
  });
};

const REASONS: [RegExp, string][] = [
  [/^PRIVATE_TARGET$/, "Its host name leads to a private, local or reserved address."],
  [/^TOO_LARGE$/, "It answered with more than 64 KiB."],
  [/^(ENOTFOUND|EAI_|ENODATA|DNS_)/, "Its host name cannot be resolved."],
  [/^ECONNREFUSED|^ConnectionRefused/, "It refused the connection."],
  [/^ECONNRESET|^EPIPE|^ConnectionClosed/, "It closed the connection without an answer."],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/, "It cannot be reached."],
  [/^ERR_TLS_CERT_ALTNAME/, "Its TLS certificate is for another host."],
  [/CERT|^UNABLE_TO_|SELF_SIGNED/, "Its TLS certificate is not trusted."],
  [/^(ERR_SSL|ERR_TLS|ERR_OSSL|EPROTO)/, "TLS with it failed: it speaks none, or refused the client certificate."],
  [/^ERR_(INVALID_CHAR|HTTP_INVALID)/, "A config field or secret has a character that an HTTP header cannot carry."],
  [/^HPE_/, "It does not speak HTTP."],
];

/** Why a request failed, in words that hold neither secrets nor what was answered. */
export function describeFailure(error: unknown) {
  const { code = "" } = error as { code?: unknown };
  return REASONS.find(([pattern]) => pattern.test(`${code}`))?.[1] ?? "The connection to it failed.";
}
