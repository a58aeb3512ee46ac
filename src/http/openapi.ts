type Json = { [key: string]: unknown };
type Operation = {
  operationId: string;
  parameters?: Json[];
  requestBody?: { content: Json };
  responses?: Record<string, Json>;
  security?: unknown;
  tags?: string[];
  summary?: string;
  description?: string;
};
export type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas?: Json; responses?: Json }; tags?: unknown };

const JSON_TYPE = "application/json";
const message = { type: "object", properties: { message: { type: "string" } }, required: ["message"], additionalProperties: false };
const failure = (description: string, example: string) => ({ description, content: { [JSON_TYPE]: { schema: message, example: { message: example } } } });
const RETRY_AFTER = { "Retry-After": { description: "Seconds", schema: { type: "integer" } } };

/** What any operation may answer besides its own. */
const COMMON: Record<string, Json> = {
  413: failure("The body is too large", "The body is larger than 1 MiB."),
  415: failure("The body is not JSON", "The body must be JSON: send content-type: application/json."),
  429: { ...failure("Too many requests", "Try again in a minute."), headers: RETRY_AFTER },
  500: failure("The server failed", "The server failed. Its log has the details under this request id."),
  503: { ...failure("The database is away", "The database is away or too slow. Try again in a moment."), headers: RETRY_AFTER },
};

const STATUS_TEXT: Record<string, string> = {
  200: "Done",
  201: "Created",
  202: "Accepted",
  204: "Done",
  304: "Not changed",
  400: "The request is not well formed",
  401: "Who are you? The token or key is missing or not valid",
  403: "You may not do this",
  404: "There is no such thing",
  409: "It conflicts with what is there",
  412: "It has changed since you read it",
};

/** Mends what the swagger plugin writes into plain OpenAPI 3.0.3: one media type, one shape of schemas, every status described. */
export function toOpenApi(document: Document) {
  const tags = new Set<string>();
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, mendOperation(operation, tags)])),
    ]),
  );
  const names = Object.keys(COMMON);
  return {
    ...document,
    tags: [...tags].map((name) => ({ name, description: `${name}.` })),
    paths,
    components: { ...document.components, schemas: {}, responses: Object.fromEntries(names.map((name) => [`Status${name}`, COMMON[name]])) },
  };
}

function mendOperation({ parameters, requestBody, responses = {}, ...operation }: Operation, tags: Set<string>) {
  for (const tag of operation.tags ?? []) tags.add(tag);
  const own = Object.entries(responses).map(([status, response]) => [status, mendResponse(status, response)]);
  const common = Object.keys(COMMON)
    .filter((status) => (requestBody || (status !== "413" && status !== "415")) && !responses[status])
    .map((status) => [status, { $ref: `#/components/responses/Status${status}` }]);
  const body = requestBody && { required: true, content: { [JSON_TYPE]: { schema: mendSchema(schemaOf(requestBody.content)) } } };
  return {
    ...operation,
    description: operation.description ?? `${operation.summary}.`,
    ...(parameters && parameters.length > 0 && { parameters: parameters.map(mendParameter) }),
    ...(body && { requestBody: body }),
    responses: Object.fromEntries([...own, ...common]),
  };
}

const schemaOf = (content: Json) => (Object.values(content)[0] as { schema: Json } | undefined)?.schema ?? {};

function mendResponse(status: string, { description, content }: Json) {
  const text = STATUS_TEXT[status] ?? (description as string | undefined) ?? "An answer";
  const schema = content ? mendSchema(schemaOf(content as Json)) : undefined;
  const isEmpty = schema === undefined || JSON.stringify((schema as Json).enum) === '[""]';
  return { description: text, ...(!isEmpty && { content: { [JSON_TYPE]: { schema } } }) };
}

function mendParameter({ name, in: place, required, schema, description, examples }: Json) {
  const mended = mendSchema(schema as Json) as Json;
  const { description: own, example, ...rest } = mended;
  return {
    name,
    in: place,
    // A value with a default need not be sent.
    required: place === "path" || (required === true && rest.default === undefined),
    ...((description ?? own) !== undefined && { description: description ?? own }),
    ...(example !== undefined ? { example } : Array.isArray(examples) ? { example: examples[0] } : {}),
    schema: rest,
  };
}

const OURS = new Set(["noValidate", "anyOf", "const", "examples", "patternProperties", "$id"]);

/** TypeBox's JSON Schema in the older words of OpenAPI 3.0: enum for const, nullable for null, example for examples. */
function mendSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(mendSchema);
  if (schema === null || typeof schema !== "object") return schema;
  const given = schema as Json;
  const mended: Json = {};
  for (const [key, value] of Object.entries(given))
    if (!OURS.has(key)) mended[key] = key === "default" || key === "enum" || key === "required" ? value : mendSchema(value);
  if (given.const !== undefined) Object.assign(mended, { type: typeof given.const, enum: [given.const] });
  if (Array.isArray(given.examples)) mended.example = given.examples[0];
  if (given.patternProperties) mended.additionalProperties = mendSchema(Object.values(given.patternProperties)[0]);
  return Array.isArray(given.anyOf) ? { ...mended, ...mendUnion(given.anyOf) } : mended;
}

function mendUnion(choices: Json[]): Json {
  const real = choices.filter((each) => each.type !== "null");
  const nullable = real.length < choices.length ? { nullable: true } : {};
  if (real.every((each) => each.const !== undefined)) return { type: typeof real[0]?.const, enum: real.map((each) => each.const), ...nullable };
  const [only] = real;
  if (real.length === 1 && only) return { ...(mendSchema(only) as Json), ...nullable };
  return { oneOf: real.map(mendSchema), ...nullable };
}
