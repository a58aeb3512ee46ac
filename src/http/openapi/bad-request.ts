import { describeUnknown } from "../validation-message";
import type { Json } from "./json";

type Parameter = { name: string; in: string; required: boolean; schema: Json };
type Fields = { properties?: Json; required?: string[]; minProperties?: number };

/** Returns the answer to a request that is wrong in the operation's own way: without its first field, or with an unknown query. */
export function exampleOfBadRequest(parameters: Parameter[], body: Fields | undefined) {
  if (body) return describeFields(body);
  const query = parameters.filter((each) => each.in === "query");
  const needed = query.find(({ required, schema }) => required && schema.default === undefined);
  if (needed) return `query.${needed.name} is required.`;
  const limit = query.find(({ name }) => name === "limit")?.schema;
  if (limit) return `query.limit must be a whole number from ${limit.minimum} to ${limit.maximum}.`;
  const known = query.map(({ name }) => name);
  return `${describeUnknown("colour", known)}.`;
}

function describeFields({ properties, required = [], minProperties }: Fields) {
  if (!properties) return "The body must be an object.";
  const isFilled = Object.values(properties).some((each) => (each as Json).default !== undefined); // a body without any field is not one here
  if (minProperties !== undefined && !isFilled) return `The body must have at least ${minProperties} of its fields.`;
  return required[0] === undefined ? "body.colour is not a known field." : `body.${required[0]} is required.`;
}
