import { createEtags } from "./etags.js";
import { waitAsAsked } from "./retry.js";

type Sent = RequestInit & { headers: Record<string, string> };

export type Conduct = {
  /** How often a request is sent again. */
  retries: number;
  /** The longest wait, in seconds, that a server may ask for. */
  longestWait: number;
  idempotencyKeys: boolean;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
};

/** Returns a fetch that remembers ETags, makes writes safe to repeat, and sends again what the server asks to be sent later. */
export function createFetch(base: string, { retries, longestWait, idempotencyKeys, fetch }: Conduct) {
  const etags = createEtags(base);

  return async function send(url: string, init: Sent) {
    const method = init.method ?? "GET";
    const condition = etags.conditionOf(method, url);
    const headers = {
      ...(condition !== undefined && { "if-match": condition }),
      ...(method !== "GET" && idempotencyKeys && { "idempotency-key": newKey() }),
      ...init.headers,
    };
    const isRepeatable = method === "GET" || "idempotency-key" in headers;
    for (let left = retries; ; left--) {
      const response = await fetch(url, { ...init, headers });
      etags.note(method, url, response);
      const mayHelp = response.status === 429 || (response.status === 503 && isRepeatable); // what was limited was not begun
      if (left === 0 || !mayHelp || !(await waitAsAsked(response, longestWait, init.signal))) return response;
    }
  };
}

/** Returns 128 random bits: randomUUID is missing in pages that came without TLS. */
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
