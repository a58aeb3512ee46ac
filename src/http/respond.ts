import { type ElysiaCustomStatusResponse, status } from "elysia";
import type { Failure, Resource } from "#db/outcome";
import { etag } from "./etag";
import type { Conflict, EmptyObject, Message } from "./schema";

type Outcome = Resource | Failure | "done" | undefined;

type Said = typeof Message.static;
type Nothing = typeof EmptyObject.static;
type Named = Required<typeof Conflict.static>;

/**
 * The answers of an outcome, so that a route must document each of its statuses. The body of a resource is text: tests hold it
 * to the route's schema.
 */
type AnswerTo<Given> = Given extends Resource
  ? never
  : Given extends "done"
    ? ElysiaCustomStatusResponse<204, "">
    : Given extends "not found" | { missing: string } | undefined
      ? ElysiaCustomStatusResponse<404, Said>
      : Given extends "conflict"
        ? ElysiaCustomStatusResponse<409, Nothing>
        : Given extends { inTheWay: string }
          ? ElysiaCustomStatusResponse<409, Named>
          : Given extends "stale"
            ? ElysiaCustomStatusResponse<412, Nothing>
            : Given extends { invalid: string }
              ? ElysiaCustomStatusResponse<400, Said>
              : never;

/**
 * The answer to a request: 200 with the resource and its ETag, 204 for what is done, or the status of a failure. `notFound` is
 * the sentence of a 404.
 */
export function respond<Given extends Outcome>(outcome: Given, notFound = ""): AnswerTo<Given> {
  return answer(outcome, notFound) as AnswerTo<Given>;
}

function answer(outcome: Outcome, notFound: string) {
  switch (outcome) {
    case undefined:
    case "not found":
      return status(404, { message: notFound });
    case "stale":
      return status(412, {});
    case "conflict":
      return status(409, {});
    case "done":
      return status(204, "");
  }
  if ("json" in outcome) return new Response(outcome.json, { headers: { "content-type": "application/json", etag: etag(outcome.version) } });
  if ("inTheWay" in outcome) return status(409, { message: outcome.inTheWay });
  return "missing" in outcome ? status(404, { message: outcome.missing }) : status(400, { message: outcome.invalid });
}

/** 201 with the resource, its ETag and where it is. */
export const respondCreated = ({ json, version }: Resource, location: string) => jsonText(json, 201, { etag: etag(version), location });

/** As respondCreated, with what the answer shows this once. */
export const respondWithSecret = ({ json, version }: Resource, name: string, secret: unknown, location?: string) =>
  jsonText(withMember(json, name, secret), 201, { etag: etag(version), ...(location && { location }), "cache-control": "no-store" });

export const isFailure = <Given extends Outcome>(outcome: Given): outcome is Extract<Given, Failure> =>
  typeof outcome === "string" ? outcome !== "done" : outcome !== undefined && !("json" in outcome);

/** A body that Postgres has already written as JSON. Its type is the route's response schema, and tests hold it to that. */
export const jsonText = (text: string, status = 200, headers: Record<string, string> = {}) =>
  new Response(text, { status, headers: { "content-type": "application/json", ...headers } }) as never;

/** The JSON text of an object with one more member. */
const withMember = (json: string, name: string, value: unknown) => `${json.slice(0, -1)}, "${name}": ${JSON.stringify(value)}}`;
