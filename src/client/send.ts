import { waitAsAsked } from "./retry.js";

export type SentRequest = Omit<RequestInit, "headers"> & { headers: Record<string, string> };

export type SendingOptions = {
  /** How often a request is sent again. */
  retries: number;
  /** The longest wait, in seconds, that a server may ask for. */
  longestWait: number;
  idempotencyKeys: boolean;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
};

/** Returns a fetch that makes writes safe to repeat, and sends again what the server asks to be sent later. */
export function createSender({ retries, longestWait, idempotencyKeys, fetch }: SendingOptions) {
  return async function send(url: string, init: SentRequest) {
    const method = init.method ?? "GET";
    const headers = { ...(method !== "GET" && idempotencyKeys && { "idempotency-key": newKey() }), ...init.headers };
    const isRepeatable = method === "GET" || "idempotency-key" in headers;
    for (let left = retries; ; left--) {
      const response = await fetch(url, { ...init, headers });
      const mayHelp = response.status === 429 || (response.status === 503 && isRepeatable); // what was limited was not begun
      if (left === 0 || !mayHelp || !(await waitAsAsked(response, longestWait, init.signal))) return response;
    }
  };
}

/** Returns 128 random bits: randomUUID is missing in pages that came without TLS. */
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
