import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { hostFault } from "./address-policy";
import { boundedText } from "./bounded-text";
import type { Call, Reply } from "./call";
import { failure } from "./failure";
import { lookupFor } from "./lookup";

const MAX_BODY = 65_536;

/**
 * `signal` ends the call at any moment: looking up, connecting, headers, body. Of the body `maxBytes` are read, or 64 KiB.
 */
export type Limits = { allowPrivate: boolean; signal: AbortSignal; maxBytes?: number };

/**
 * Sends one HTTP request: no redirects, no proxy, a bounded body. Unless `allowPrivate`, it connects only to public addresses
 * of its own look-up, so a name server cannot change its mind.
 */
export async function send(
  { method, url, headers, body, tls }: Call,
  { allowPrivate, signal, maxBytes = MAX_BODY }: Limits,
): Promise<Reply & { headers: IncomingHttpHeaders }> {
  if (!allowPrivate && hostFault(url.hostname)) throw failure("PRIVATE_TARGET"); // an address is never looked up
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === "https:";
  const options = { method, headers, signal, agent: false, lookup: lookupFor({ allowPrivate }), ...(isSecure && tls) };
  const request = (isSecure ? requestHttps : requestHttp)(url, options, resolve);
  request.on("error", reject);
  // An answer 101 that was not asked for has no end of its own.
  request.on("upgrade", (_, socket) => {
    socket.destroy();
    reject(failure("HPE_UPGRADE"));
  });
  const end = () => reject(signal.reason);
  signal.addEventListener("abort", end);
  request.end(body);
  try {
    const answer = await promise;
    const { statusCode: status = 0, headers: said } = answer;
    return { status, headers: said, retryAfter: said["retry-after"], body: await boundedText(answer, maxBytes) };
  } finally {
    signal.removeEventListener("abort", end);
    request.destroy();
  }
}
