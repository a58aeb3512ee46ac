import { createEtags } from "./etags.js";
import { createSender, type SendingOptions, type SentRequest } from "./send.js";

/** Returns a sender that remembers the ETags of what was read, and writes on the version that they name. */
export function createFetch(base: string, conduct: SendingOptions) {
  const etags = createEtags(base);
  const send = createSender(conduct);

  return async function sendOnVersion(url: string, init: SentRequest) {
    const method = init.method ?? "GET";
    const condition = etags.conditionOf(method, url);
    const response = await send(url, { ...init, headers: { ...(condition !== undefined && { "if-match": condition }), ...init.headers } });
    etags.note(method, url, response);
    return response;
  };
}
