import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { hostFault } from "./address-policy";
import { boundedText } from "./bounded-text";
import type { Call, Reply } from "./call";
import { failure } from "./failure";
import { lookupFor } from "./lookup";

const MAX_BODY = 65_536;

/**
 * `signal` ends the call, whatever the other side does or leaves undone: looking up, connecting, headers, body. `maxBytes` of body are read,
 * 64 KiB where it is not said.
 */
export type Limits = { allowPrivate: boolean; signal: AbortSignal; maxBytes?: number };

/**
 * One HTTP request that follows no redirect, takes no proxy and reads a bounded body. Unless `allowPrivate`, it connects only to the
 * public addresses that its own look-up of the name gave, so that a name server cannot change its mind in between.
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
