import { version } from "../../../package.json";

const DESCRIPTION = `
Certificates of organizations: what they are, which expire next, where they are installed, and who did what.

**Answers.** A refusal says why in \`{"message": "…"}\`; 401 has no body, a conflict (409, 412) has \`{}\`, but where something is in the way that the caller did not name. The checks come in this order: who are you (401),
may you (403), is the request well formed (400), does the thing exist (404), does it conflict (409, 412). What belongs to another organization does not exist.

**Bodies** are JSON of at most 1 MiB (an import 8 MiB). An unknown field is refused, in the query too, and so is a field that is sent twice, or \`"5"\` where a number is wanted.

**Lists** answer \`{"items": […], "nextCursor": …}\`: send \`nextCursor\` as \`cursor\` to get the next page, until it is null.

**Versions.** What can be changed carries an \`ETag\`. Send it as \`If-Match\` (one, a list, or \`*\`), and the change is made only if nobody was faster (else 412).
Send it as \`If-None-Match\` when you read again, and while nothing has changed the answer is 304, without a body.

**Limits.** \`RateLimit\` says what is left of the caller's limit, \`RateLimit-Policy\` what the limit is. Beyond it the answer is 429, and \`Retry-After\` says when to
try again. Refusals without a valid credential are charged to the address.

**Tracing.** Every answer carries \`x-request-id\`, yours if you sent one, and the log names it.
`.trim();

const bearer = (description: string, bearerFormat?: string) => ({ type: "http", scheme: "bearer", description, ...(bearerFormat && { bearerFormat }) });
const header = (name: string, description: string) => ({ type: "apiKey", in: "header", name, description });

/** The descriptions of tags; a tag that is not here is its own description. */
export const TAGS: Record<string, string> = {
  "API tokens": "Credentials of machines, each of one organization and one role.",
  Agents: "The machines that install certificates, and what each has to install.",
  "AI governance": "Frameworks, their controls, and the metrics of AI systems.",
  Audit: "Who did what, and when.",
  Certificates: "The certificates of an organization, from import to retirement.",
  Core: "Connections to other systems, and the dashboard.",
  Issuance: "Authorities of the organization's own, issuers, and orders of certificates.",
  Knowledge: "Documents, and what they say.",
  Members: "Who belongs to an organization, and who is invited.",
  Notifications: "What the signed-in user should know.",
  Operations: "For those who run the server.",
  Organization: "The organization itself.",
  "Platform staff": "For the platform's own staff, across organizations.",
  Portal: "For members who look up one thing.",
  Rollouts: "Certificates on their way to many agents, ring by ring.",
  "Trust stores": "The kinds of store that certificates are installed into.",
  User: "The signed-in user.",
};

/** The parts of the document besides its operations. */
export const documentation = {
  info: {
    title: "Certitude",
    version,
    description: DESCRIPTION,
    contact: { name: "Certitude" },
    license: { name: "MIT", url: "https://opensource.org/license/mit" },
  },
  securitySchemes: {
    userToken: bearer("The access token of a user, issued by the identity provider, or by `certitude token` for local use.", "JWT"),
    apiToken: bearer("An API token of the organization, shown once when it is made; it begins with cat_."),
    workerKey: bearer("One of the keys in WORKER_API_KEY."),
    agentToken: bearer("An agent's own long-lived token, shown once when it is enrolled."),
    agentCredential: bearer("An agent's credential of a day, which counts only with its key's signature; it begins with cac_."),
    joinToken: bearer("A join token, shown once when it is made; it begins with caj_."),
    agentSignature: header(
      "signature",
      "An HTTP message signature (RFC 9421) by the agent's Ed25519 key, of @method, certitude-path, certitude-nonce, authorization and content-digest, as far as the request has them.",
    ),
    ingestKey: bearer("An ingest key of the organization, shown once when it is made."),
    ingestSignature: header("webhook-signature", "A Standard Webhooks signature with an ingest key; webhook-id and webhook-timestamp belong to it."),
    organizationRole: header(
      "x-organization-role",
      "ORG_ADMIN or ORG_MEMBER. With x-organization-id it is enough from a trusted gateway; from anybody else, a user token or an API token must prove the role.",
    ),
    organizationId: header("x-organization-id", "The organization of the path."),
    platformAdmin: header("x-user-id", "The platform admin's user id: the user token's own."),
  },
};

/** Parameters that mean the same everywhere. */
const PARAMETERS: Record<string, string> = {
  of: "The public key that the agent trusts",
  apiTokenId: "The API token",
  limit: "How many items at most",
  cursor: "The nextCursor of the page before",
  page: "Which page, from 0",
  unread: "Only what is unread",
};

/** Words for a parameter without any of its own: `certificateId` is the certificate. */
export function describeParameter(name: string) {
  const noun = /^([a-zA-Z]+)(Id|Key)$/.exec(name)?.[1];
  return PARAMETERS[name] ?? (noun && `The ${noun.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`);
}

export const SUCCESSES: Record<string, string> = { 200: "Done", 201: "Created", 202: "Accepted", 204: "Done" };

export type Refusal = { name: string; text: string; body: "message" | "object" | "conflict" | "none"; example?: string; headers?: string[] };

const message = (name: string, text: string, example: string, headers: string[] = []): Refusal => ({ name, text, body: "message", example, headers });

/** A refusal looks the same wherever it comes from. */
export const REFUSALS: Record<string, Refusal> = {
  304: { name: "NotModified", text: "It has not changed since you read it", body: "none", headers: ["ETag"] },
  400: message("BadRequest", "The request is not well formed", "query.limit must be a whole number from 1 to 100."),
  401: { name: "Unauthorized", text: "Who are you? The token or key is missing or not valid", body: "none", headers: ["WWW-Authenticate"] },
  403: message("Forbidden", "You may not do this", "This needs the role ORG_ADMIN."),
  404: message("NotFound", "There is no such thing here", "There is no such certificate in this organization."),
  409: { name: "Conflict", text: "It conflicts with what is there", body: "object" },
  412: { name: "PreconditionFailed", text: "It has changed since you read it", body: "object" },
  413: message("ContentTooLarge", "The body is too large", "The body is larger than 1 MiB."),
  415: message("UnsupportedMediaType", "The body is not JSON, or it is compressed", "The body must be JSON: send content-type: application/json."),
  429: message("TooManyRequests", "Too many requests", "There were more than 6000 requests in 60 seconds. Try again in 1 s.", [
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
  ]),
  500: message("ServerError", "The server failed", "The server failed. Its log has the details under this request id."),
  503: message("Unavailable", "The database is away", "The database is away or too slow. Try again in a moment.", ["Retry-After"]),
};

/** The 409 of operations that name something in the way that the caller did not name. */
export const NAMED_CONFLICT: Refusal = {
  name: "NamedConflict",
  text: "It conflicts with what is there. Where the request does not show with what, the message does",
  body: "conflict",
  example: 'The policy "Corporate root" (0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c03) has this place.',
};

/** Any operation may answer these besides its own, and one that changes something the second list too. */
export const ALWAYS = ["400", "429", "500", "503"];
export const WRITING = ["413", "415"];
