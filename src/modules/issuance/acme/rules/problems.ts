import { type Reply, readRetryAfter } from "#outbound/call";

/** Error types of ACME (RFC 8555, 6.7; RFC 9773, 5; draft-aaron-acme-profiles), in words for a person. */
const TYPES: Record<string, string> = {
  accountDoesNotExist: "The CA does not know the account.",
  alreadyReplaced: "The CA has already replaced the certificate that is renewed.",
  alreadyRevoked: "The CA has already revoked the certificate.",
  badCSR: "The CA does not accept the certificate signing request.",
  badNonce: "The CA rejects every nonce, its own newest ones too.",
  badPublicKey: "The CA does not accept the public key.",
  badRevocationReason: "The CA does not accept the reason of the revocation.",
  badSignatureAlgorithm: "The CA does not accept the signature algorithm of the account key.",
  caa: "A CAA record forbids the CA to issue.",
  compound: "The CA refuses for several reasons.",
  connection: "The CA could not connect to the host that it validates.",
  dns: "A DNS query of the CA failed.",
  externalAccountRequired: "The CA registers accounts only with an external account binding: externalAccountKeyId and externalAccountHmacKey.",
  incorrectResponse: "The CA found another answer to its challenge than it expects.",
  invalidContact: "The CA does not accept a contact of the account.",
  invalidProfile: "The CA does not know the profile.",
  malformed: "The CA does not understand the request.",
  orderNotReady: "The CA does not call the order ready.",
  rateLimited: "A rate limit of the CA is reached.",
  rejectedIdentifier: "The CA issues nothing for a name.",
  serverInternal: "The CA has an internal fault.",
  tls: "The CA met a TLS fault at the host that it validates.",
  unauthorized: "The CA does not authorize this.",
  unsupportedContact: "The CA does not take this kind of contact.",
  unsupportedIdentifier: "The CA issues nothing for names of this kind.",
  userActionRequired: "The CA waits for an action of the account's owner, such as agreeing to new terms of service.",
};

const PREFIX = "urn:ietf:params:acme:error:";
/** Of what the CA says in its own words. */
const MAX_DETAIL = 300;
const MAX_SUBPROBLEMS = 5;
/** Beyond a week a limit is as good as a refusal. */
const MAX_WAIT_MS = 7 * 86_400_000;

type Facts = { type: string; detail: string; identifier?: string | undefined; subproblems: Facts[] };

/** A problem document that a CA answered (RFC 7807). `type` is without its prefix; `message` is for a person. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly facts: Facts,
    readonly retryAfterMs: number | undefined,
  ) {
    super(describeProblem(facts));
  }
  get type() {
    return this.facts.type;
  }
}

/** A reason why an order does not go on, beside those in problem documents of a CA. With `isFinal` the next try would meet it again. */
export class Fault extends Error {
  constructor(
    message: string,
    readonly isFinal: boolean,
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}

/** A fault of the CA, or of the issuer's settings: other requests of the issuer would meet it too. */
export class Unusable extends Fault {}

/** Returns the error of an answer that is not the one that was asked for. */
export function errorOf(reply: Reply, now: Date): Problem | Unusable {
  const { status, body, retryAfter } = reply;
  const wait = readRetryAfter(retryAfter, now, MAX_WAIT_MS);
  const document = readJson(body);
  if (status >= 400 && typeof document?.type === "string") return new Problem(status, readFacts(document), wait);
  if (status >= 300 && status < 400) return new Unusable(`The CA answered ${status}, a redirect, which is not followed.`, true);
  const isPassing = status >= 500 || status === 429 || status === 408;
  return new Unusable(`The CA answered ${status} with something that is not ACME.`, !isPassing, wait);
}

/** Returns the object that a text is in JSON, undefined for all else. */
export function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return;
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a problem document in sentences, the CA's own words among them. */
export const describeDocument = (document: unknown) => (isRecord(document) ? describeProblem(readFacts(document)) : "The CA does not say why.");

function readFacts(document: Record<string, unknown>): Facts {
  const { type, detail, identifier, subproblems } = document;
  return {
    type: typeof type === "string" ? type.replace(PREFIX, "") : "",
    detail: typeof detail === "string" ? clean(detail) : "",
    ...(isRecord(identifier) && { identifier: clean(String(identifier.value)) }),
    subproblems: Array.isArray(subproblems) ? subproblems.filter(isRecord).slice(0, MAX_SUBPROBLEMS).map(readFacts) : [],
  };
}

/** Makes one line of text that others wrote. */
const clean = (text: string) =>
  text
    .slice(0, 4 * MAX_DETAIL)
    .replace(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_DETAIL);

function describeProblem({ type, detail, identifier, subproblems }: Facts): string {
  const words = Object.hasOwn(TYPES, type) ? TYPES[type] : `The CA answered an error${type ? ` of the type ${clean(type).slice(0, 100)}` : ""}.`;
  const own = detail ? ` It says: “${detail}”` : "";
  return [`${identifier ? `${identifier}: ` : ""}${words}${own}`, ...subproblems.map(describeProblem)].join(" ");
}
