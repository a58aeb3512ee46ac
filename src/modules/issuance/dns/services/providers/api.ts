import { judgeStatus } from "#modules/core/connectors/rules/outcome";
import { withoutEnd } from "#outbound/address-policy";
import type { Reply } from "#outbound/call";
import { type Limits, send } from "#outbound/http-client";
import { DnsFault } from "../../rules/fault";
import { toFault } from "../ask";

/** How long one request to a provider may take. */
const CALL_MS = 10_000;

type ApiCall = { method: string; url: URL; headers?: Record<string, string>; body?: string | undefined };

/** One request to a provider's API. Throws a DnsFault that names the provider where no answer comes. */
export async function callApi(label: string, { method, url, headers = {}, body }: ApiCall, { allowPrivate, signal }: Limits): Promise<Reply> {
  const limits = { allowPrivate, signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]) };
  const sized = { ...headers, "user-agent": "certitude", ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }) };
  try {
    return await send({ method, url, headers: sized, body }, limits);
  } catch (error) {
    throw toFault(label, error, limits.signal);
  }
}

/** Throws a DnsFault where the status is one of a failure. */
export function checkStatus(label: string, reply: Reply, now: Date) {
  const judged = judgeStatus(reply, now);
  if (judged.state === "failed")
    throw new DnsFault(`${label}${judged.reason.replace(/^It /, " ")}`, { isFinal: judged.isFinal, retryAfterMs: judged.retryAfterMs });
}

export const basicAuth = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** A path, with its query, below an address that may have a path of its own. */
export function below(base: string, path: string, query: Record<string, string> = {}) {
  const url = new URL(base);
  url.pathname = withoutEnd(url.pathname, "/") + path;
  url.search = new URLSearchParams(query).toString();
  return url;
}
