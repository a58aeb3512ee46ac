import { Conflict, EmptyObject, Message } from "../schema";
import { exampleOfBadRequest } from "./bad-request";
import { exampleOf } from "./example";
import { ALWAYS, describeParameter, documentation, NAMED_CONFLICT, REFUSALS, type Refusal, SUCCESSES, TAGS, WRITING } from "./info";
import type { Json } from "./json";
import { mendSchema } from "./schema";

type Parameter = { name: string; in: string; required: boolean; schema: Json; description?: string; examples?: unknown[] };
type Response = { content?: Json; title?: string; description?: string; examples?: unknown[]; security?: string[][]; hasTag?: boolean };
type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Json };
  responses: Record<string, Response>;
};
/** The document that the swagger plugin writes. */
export type Draft = { paths: Record<string, Record<string, Operation>> };

type Named = { schemas: Json; responses: Json; parameters: Json; securitySchemes: Json };

const HEADERS = {
  ETag: {
    description: "The version of what is answered, for If-Match; of a read, also a digest of the body, for If-None-Match",
    schema: { type: "string" },
    example: '"1"',
  },
  RateLimit: { description: "What is left of the limit, and in how many seconds it is whole again", schema: { type: "string" }, example: '"user";r=5999;t=1' },
  "RateLimit-Policy": { description: "The limit: so many requests in so many seconds", schema: { type: "string" }, example: '"user";q=6000;w=60' },
  "Retry-After": { description: "How many seconds to wait", schema: { type: "integer" }, example: 1 },
  "WWW-Authenticate": { description: "Bearer, and whether a token was sent and refused", schema: { type: "string" }, example: 'Bearer error="invalid_token"' },
  "X-Request-Id": { description: "The request's own x-request-id, or a new one", schema: { type: "string" }, example: "0b6e3a52-7f0a-4b1e-9c55-2f7f4d1c8e90" },
};
const condition = (name: string, description: string) => ({ name, in: "header", description, schema: { type: "string" }, example: '"1"' });
const CONDITIONS: Record<string, Json> = {
  412: condition("If-Match", "The ETag that must still hold, else 412"),
  304: condition("If-None-Match", "The ETag of what you have: 304 when it is still good"),
};

const SCHEMES: Record<string, { type: string; name?: string }> = documentation.securitySchemes;

/** Every write takes it. */
const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description: "Names this write for a day: sent again with the same body it is done once, and answered alike. With another body it is 400.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
  example: "5c2b8f0e-6f0c-4f4e-8f57-3c8a2f1c9b7d",
};

const refer = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const schemaOf = (content: Json) => (Object.values(content)[0] as { schema: Json }).schema;
const headers = (...names: string[]) => Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, refer("headers", name)]));
const body = (schema: Json, example: unknown, named: Json) => ({
  [String(schema.contentMediaType ?? "application/json")]: { schema: mendSchema(schema, named), example },
});
const mapValues = <From, To>(from: Record<string, From>, change: (value: From, key: string) => To) =>
  Object.fromEntries(Object.entries(from).map(([key, value]) => [key, change(value, key)]));

/**
 * Makes a plain OpenAPI 3.0.3 document of the plugin's draft: one media type, every status, header and example, and names for
 * what recurs.
 */
export function toOpenApi(draft: Draft, url: string) {
  const { securitySchemes, ...rest } = documentation;
  const named: Named = { schemas: {}, responses: {}, parameters: {}, securitySchemes: {} };
  const operations = Object.values(draft.paths).flatMap((each) => Object.values(each));
  const tags = [...new Set(operations.flatMap((each) => each.tags))].sort();
  const canBeStale = (methods: Record<string, Operation>) => Object.values(methods).some(({ responses }) => responses[412]);
  const shown = Object.values(draft.paths)
    .filter(canBeStale)
    .flatMap((methods) => Object.values(methods));
  const titles = shown.flatMap(({ responses }) => responses[200]?.title ?? []);
  const versioned = new Set(titles.flatMap((title) => [title, `New${title}`, `${title}WithHistory`]));
  return {
    openapi: "3.0.3",
    ...rest,
    servers: [{ url, description: "This server" }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? `${name}.` })),
    paths: mapValues(draft.paths, (methods) => mapValues(methods, (operation, method) => mendOperation(operation, method, versioned, named))),
    components: { ...named, headers: HEADERS },
  };
}

function mendOperation({ parameters = [], requestBody, responses, ...operation }: Operation, method: string, versioned: Set<string>, named: Named) {
  const isTagged = ({ title = "", hasTag }: Response) => hasTag || versioned.has(title) || "304" in responses;
  const isConditional = method === "get" && isTagged(responses[200] ?? {});
  const own = [...new Set([...Object.keys(responses), ...(isConditional ? ["304"] : [])])];
  const refusals = [...own.filter((status) => !SUCCESSES[status]), ...ALWAYS, ...(method === "get" ? [] : WRITING)];
  const successes = own.filter((status) => SUCCESSES[status]).map((status) => [status, mendSuccess(status, responses[status] ?? {}, isTagged, named)]);
  const given = requestBody && schemaOf(requestBody.content);
  const withExample: Record<string, Response> = { 400: { ...responses[400], examples: [{ message: exampleOfBadRequest(parameters, given) }] } };
  const choices = responses[401]?.security ?? [];
  const all = [
    ...parameters.map((each) => mendParameter(each, choices, named)),
    ...own.flatMap((status) => mendCondition(status, named)),
    ...mendKey(method, named),
  ];
  return {
    ...operation,
    description: operation.description ?? `${operation.summary}.`,
    security: mendSecurity(choices, named),
    ...(all.length > 0 && { parameters: all }),
    ...(requestBody && { requestBody: { required: true, content: mendContent(requestBody.content, {}, named) } }),
    responses: Object.fromEntries([...successes, ...refusals.map((status) => [status, mendRefusal(status, withExample[status] ?? responses[status], named)])]),
  };
}

/** Any of the choices will do; each names what must be sent together. A guard states them in its 401. */
function mendSecurity(choices: string[][], named: Named) {
  for (const name of choices.flat()) {
    if (!SCHEMES[name]) throw new Error(`There is no security scheme ${name}.`);
    named.securitySchemes[name] = SCHEMES[name];
  }
  return choices.map((names) => Object.fromEntries(names.map((name) => [name, []])));
}

function mendParameter(parameter: Parameter, choices: string[][], { schemas }: Named) {
  const { name, in: place, required, schema, description = describeParameter(name), examples } = parameter;
  const isSecurity = choices.flat().some((each) => SCHEMES[each]?.name === name);
  const isExact = place === "path" || schema.format === "uuid";
  const example = examples?.[0] ?? (isExact ? exampleOf(schema, name) : undefined);
  return {
    name,
    in: place,
    // A value with a default need not be sent; what the security asks for, generated clients send with every call, not in each.
    required: place === "path" || (required && schema.default === undefined && !isSecurity),
    description,
    schema: mendSchema(schema, schemas),
    ...(example !== undefined && { example }),
  };
}

/** Adds the conditional header that fits a status: If-Match for 412, If-None-Match for 304. */
function mendCondition(status: string, { parameters }: Named) {
  const parameter = CONDITIONS[status];
  if (!parameter) return [];
  parameters[String(parameter.name)] = parameter;
  return [refer("parameters", String(parameter.name))];
}

function mendKey(method: string, { parameters }: Named) {
  if (method === "get") return [];
  parameters[IDEMPOTENCY_KEY.name] = IDEMPOTENCY_KEY;
  return [refer("parameters", IDEMPOTENCY_KEY.name)];
}

/** The plugin takes title, description, examples and closedness away from a response's schema. */
function mendSuccess(status: string, response: Response, isTagged: (response: Response) => boolean | undefined, named: Named) {
  const { content, title, description, examples } = response;
  if (!content || status === "204") return { description: SUCCESSES[status], headers: headers() };
  const isObject = schemaOf(content).type === "object";
  const lost = {
    ...(title && { title }),
    ...(description && { description }),
    ...(examples && { examples }),
    ...(isObject && { additionalProperties: false }),
  };
  return { description: SUCCESSES[status], headers: headers(...(isTagged(response) ? ["ETag"] : [])), content: mendContent(content, lost, named) };
}

function mendContent(content: Json, lost: Json, { schemas }: Named) {
  const whole = { ...schemaOf(content), ...lost };
  return body(whole, exampleOf(whole), schemas);
}

function mendRefusal(status: string, own: Response | undefined, { responses, schemas }: Named) {
  const refusal = status === "409" && own?.content && isNamed(schemaOf(own.content)) ? NAMED_CONFLICT : REFUSALS[status];
  if (!refusal) throw new Error(`There are no words for the status ${status}.`);
  if (refusal.body !== "none" && own?.content && schemaOf(own.content).const === "") return describeRefusal({ ...refusal, body: "none" }, schemas);
  const [example] = own?.examples ?? [];
  if (example) return describeRefusal({ ...refusal, example: (example as { message: string }).message }, schemas);
  responses[refusal.name] ??= describeRefusal(refusal, schemas);
  return refer("responses", refusal.name);
}

const isNamed = ({ properties }: Json) => Object.hasOwn((properties ?? {}) as Json, "message");

function describeRefusal(refusal: Refusal, schemas: Json) {
  const about = { description: refusal.text, headers: headers(...(refusal.headers ?? [])) };
  if (refusal.body === "none") return about;
  if (refusal.body === "conflict") return { ...about, content: body(Conflict, { message: refusal.example }, schemas) };
  return { ...about, content: refusal.body === "object" ? body(EmptyObject, {}, schemas) : body(Message, { message: refusal.example }, schemas) };
}
