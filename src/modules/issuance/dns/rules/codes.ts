import { DnsFault } from "./fault";

export const NOERROR = 0;
export const NXDOMAIN = 3;
export const REFUSED = 5;

/** Response codes (RFC 1035, RFC 2136) as what a server does; those that the same request would meet again are final. */
const CODES: Record<number, { name: string; words: string; isFinal?: true }> = {
  1: { name: "FORMERR", words: "does not understand the request" },
  2: { name: "SERVFAIL", words: "failed" },
  3: { name: "NXDOMAIN", words: "knows no such name" },
  4: { name: "NOTIMP", words: "takes no updates", isFinal: true },
  5: { name: "REFUSED", words: "refused", isFinal: true },
  6: { name: "YXDOMAIN", words: "says that the name exists" },
  7: { name: "YXRRSET", words: "says that the records exist" },
  8: { name: "NXRRSET", words: "says that the records do not exist" },
  9: { name: "NOTAUTH", words: "is not the authority, or takes no such signature", isFinal: true },
  10: { name: "NOTZONE", words: "says that the name is not in the zone", isFinal: true },
};

/** Returns the fault of a server's response code to a task, as a sentence. */
export function codeFault(server: string, code: number, task: string) {
  const { name = `code ${code}`, words = "answered with an error", isFinal = false } = CODES[code] ?? {};
  return new DnsFault(`${server} ${words} (${name}) when asked ${task}.`, { isFinal });
}
