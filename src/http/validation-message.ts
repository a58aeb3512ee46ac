import { Kind, type TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import type { ValidationError } from "elysia";
import { findMeant } from "#text/misspelled";

type Checker = { Errors(value: unknown): { First(): ValueError | undefined } };

/** One sentence that names the field and what it must be, such as "body.email must be an e-mail address." */
export function describeFault({ type, validator, value }: ValidationError) {
  const fault = (validator as Checker).Errors(value).First();
  if (!fault) return `The ${type} is not what this operation expects.`;
  const name = type === "headers" ? "header " : `${type}.`;
  const field = fault.path === "" ? `The ${type}` : name + fault.path.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~").slice(0, 200);
  if (type === "query" && fault.type === ValueErrorType.ObjectAdditionalProperties)
    return `${describeUnknown(field.slice("query.".length), Object.keys(fault.schema.properties))}.`;
  return `${field} ${expectation(fault)}.`;
}

/** A name is quoted, and compared with others, no further than this. */
const MAX_NAME = 100;

/** Returns the sentence for an unknown query field, with the known ones. */
export function describeUnknown(name: string, known: readonly string[]) {
  const shown = name.slice(0, MAX_NAME).toWellFormed();
  const fault = `query.${shown} is not a known field`;
  if (known.length === 0) return `${fault}: this operation has none in its query`;
  const meant = findMeant(shown, known);
  return `${fault}${meant ? `; did you mean ${meant}?` : "."} Known here: ${known.join(", ")}`;
}

const FORMATS: Record<string, string> = {
  email: "must be an e-mail address",
  uuid: "must be a UUID",
  "date-time": "must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z",
  uri: "must be an absolute URI",
};

function expectation({ type, schema, value, errors }: ValueError): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return "is not a known field";
  if (value === undefined) return "is required";
  if (schema.description?.startsWith("must ")) return schema.description;
  if (schema.anyOf) return describeUnion(schema.anyOf, errors);
  if (schema.const !== undefined) return `must be ${JSON.stringify(schema.const)}`;
  if (schema[Kind] === "Text" || schema.type === "string") return describeText(schema);
  if (schema.type === "integer" || schema.type === "number") return describeNumber(schema);
  if (schema.type === "array") return describeArray(schema, type);
  if (schema.type === "object") return describeObject(schema, type);
  if (schema.type === "boolean") return "must be true or false";
  return "is not valid";
}

function describeText({ format, minLength = 0, maxLength }: TSchema) {
  if (format && FORMATS[format]) return FORMATS[format];
  return maxLength === undefined ? "must be text" : `must be text of ${minLength} to ${maxLength} characters, without NUL`;
}

function describeNumber({ type, minimum, maximum }: TSchema) {
  const noun = type === "integer" ? "a whole number" : "a number";
  if (minimum !== undefined && maximum !== undefined) return `must be ${noun} from ${minimum} to ${maximum}`;
  return minimum === undefined ? `must be ${noun}` : `must be ${noun} of at least ${minimum}`;
}

function describeArray({ minItems = 0, maxItems }: TSchema, type: ValueErrorType) {
  if (type === ValueErrorType.ArrayUniqueItems) return "must not repeat an item";
  return maxItems === undefined ? "must be a list" : `must be a list of ${minItems} to ${maxItems} items`;
}

function describeObject({ minProperties }: TSchema, type: ValueErrorType) {
  return type === ValueErrorType.ObjectMinProperties ? `must have at least ${minProperties} of its fields` : "must be an object";
}

/** A choice of literals reads as a list; of shapes, what the nearest one lacks. */
function describeUnion(choices: TSchema[], errors: ValueError["errors"]): string {
  const literals = choices.flatMap((each) => (each.const === undefined ? [] : String(each.const)));
  if (literals.length === choices.length) return `must be one of ${literals.join(", ")}`;
  const nearest = errors.map((each) => each.First()).find((each) => each && each.schema.type !== "null");
  return nearest ? expectation(nearest) : "is not one of the allowed shapes";
}
