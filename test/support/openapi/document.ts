import { world } from "../server/world";

export type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  /** One for each kind, which the field `kind` tells. */
  oneOf?: Schema[];
  nullable?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  example?: unknown;
};
type Parameter = { $ref?: string; name: string; in: "path" | "query" | "header"; required?: boolean; schema: Schema; example?: unknown };
type Media = { schema: Schema; example?: unknown };
type Described = {
  operationId: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, unknown>;
};
type Document = { paths: Record<string, Record<string, Described>>; components: Record<string, Record<string, unknown>> };

export type Operation = {
  id: string;
  method: string;
  /** As the document writes it, such as `/users/{userId}`. */
  path: string;
  /** The schemes that must come together, for each way to be let in. */
  security: string[][];
  parameters: Parameter[];
  body: (Media & { type: string }) | undefined;
  statuses: string[];
};

const document = (await (await fetch(`${world.url}/swagger/json`)).json()) as Document;

const follow = <Thing extends { $ref?: string }>(thing: Thing): Thing => {
  const [, , kind = "", name = ""] = thing.$ref?.split("/") ?? [];
  return thing.$ref ? follow(document.components[kind]?.[name] as Thing) : thing;
};

/** The schema itself, whatever it is called. */
export const resolve = (schema: Schema | undefined): Schema => follow(schema ?? {});

function read(path: string, method: string, { operationId, security, parameters = [], requestBody, responses }: Described): Operation {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return {
    id: operationId,
    method: method.toUpperCase(),
    path,
    security: security.map(Object.keys),
    parameters: parameters.map(follow),
    body: type && media ? { type, ...media } : undefined,
    statuses: Object.keys(responses),
  };
}

/** The first way to be let in that needs no token of a user's or an API token, or the first of all. */
export const plainWay = (security: string[][]) => security.find((each) => !each.includes("userToken") && !each.includes("apiToken")) ?? security[0] ?? [];

/** Everything that the published document offers. */
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => read(path, method, described)),
);

export const isWriting = ({ method }: Operation) => method !== "GET";
export const nameOf = ({ method, path }: Operation) => `${method} ${path}`;

/** `path` with each `{name}` replaced. */
export const fillPath = (path: string, fill: (name: string) => string) => path.replace(/\{(\w+)\}/g, (_, name: string) => fill(name));
