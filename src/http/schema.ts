import { FormatRegistry, Kind, type TProperties, type TSchema, type TUnsafe, Type, TypeRegistry } from "@sinclair/typebox";
import { t } from "elysia";
import { MIN_UUID } from "#db/ids";
import { isMoment, readMoment, writeMoment } from "#db/moments";
import { isUuid, UUID } from "#text/uuid";

/** A request body: an unknown field is refused. */
export const Body = <Properties extends TProperties>(properties: Properties, options = {}) => t.Object(properties, { additionalProperties: false, ...options });

/** The schema of an answer: types and documentation. Tests check every answer against it; at run time it costs nothing. */
export const Answer = <Properties extends TProperties>(properties: Properties, options = {}) =>
  t.Object(properties, { additionalProperties: false, noValidate: true, ...options });

export const Message = Answer(
  { message: t.String({ description: "What was done, or what was wrong, where, and what to do", examples: ["Profile updated"] }) },
  { title: "Message", description: "A sentence for a person" },
);
/** A 404 with its sentence for the document. */
export const NotFound = (message: string) => Answer(Message.properties, { title: "Message", examples: [{ message }] });
export const Empty = t.Literal("", { noValidate: true });
export const EmptyObject = Answer({}, { title: "EmptyObject" });
/** A 409 that names what is in the way, where that is another thing than the caller asked for. */
export const Conflict = Answer(
  { message: t.Optional(t.String({ description: "What is in the way, where the request does not show it", examples: ["The policy holds this place."] })) },
  { title: "Conflict" },
);
/**
 * A guard's 401. It also says in the document what each caller must send together: a guard's responses reach the routes, its
 * `detail` does not.
 */
export const Unauthorized = (...security: string[][]) => t.Literal("", { security, noValidate: true });

/** In characters of Unicode; they are counted only where that can matter, because a text may be large. */
function hasLength(text: string, min: number, max: number) {
  if (text.length > 2 * max) return false;
  const length = text.length <= max ? text.length : [...text].length;
  return length >= min && length <= max;
}

// Kinds of our own: they check what JSON Schema words cannot say, and stay plain strings and integers in the document.
type TextOptions = { min?: number; max?: number; description?: string; examples?: string[] };
TypeRegistry.Set<{ minLength: number; maxLength: number }>("Text", ({ minLength, maxLength }, value) => {
  if (typeof value !== "string" || !value.isWellFormed() || value.includes("\0")) return false;
  return hasLength(value.trim(), minLength, maxLength);
});
TypeRegistry.Set<{ minimum: number; maximum?: number }>("IntegerText", ({ minimum, maximum = Number.POSITIVE_INFINITY }, value) => {
  const isWhole = typeof value === "string" ? /^-?\d+$/.test(value) : Number.isInteger(value);
  return isWhole && Number(value) >= minimum && Number(value) <= maximum;
});
TypeRegistry.Set("BooleanText", (_, value) => value === "true" || value === "false" || typeof value === "boolean");

TypeRegistry.Set<{ minLength: number; maxLength: number }>("ExactText", ({ minLength, maxLength }, value) => {
  if (typeof value !== "string" || !value.isWellFormed() || value.includes("\0") || value.trim() === "") return false;
  return hasLength(value, minLength, maxLength);
});
TypeRegistry.Set("Upload", (_, value) => value instanceof Blob);

const custom = <Value>(kind: string, schema: object) => Type.Unsafe<Value>({ [Kind]: kind, ...schema }) as TUnsafe<Value>;

/** Text for people: trimmed, well-formed Unicode without NUL, 1 to 200 characters unless said. */
export const Text = ({ min = 1, max = 200, ...rest }: TextOptions = {}) =>
  t
    .Transform(custom<string>("Text", { type: "string", minLength: min, maxLength: max, ...rest }))
    .Decode((value) => value.trim())
    .Encode((value) => value);

/** Text that is kept to the letter, the space around it too. */
export const ExactText = ({ min = 1, max = 200, ...rest }: TextOptions = {}) =>
  custom<string>("ExactText", { type: "string", minLength: min, maxLength: max, ...rest });

/** A file of a form. Its description begins with "must be": a refusal says it too. */
export const Upload = (options: { description: string; examples: string[] }) =>
  custom<Blob & { name?: string }>("Upload", { type: "string", format: "binary", ...options });

/** A number that a handler always has, and a caller may leave out: types of a query do not know defaults. */
export type Defaulted = number & { readonly "~default"?: never };

/** A whole number in a query string. Without a maximum, what is above 2^53 - 1 counts as that. */
export const QueryInteger = (options: { minimum: number; maximum?: number; default: number }) =>
  t
    .Transform(custom<number>("IntegerText", { type: "integer", ...options }))
    .Decode((value) => Math.min(Number(value), Number.MAX_SAFE_INTEGER) as Defaulted)
    .Encode((value) => value);

/** `true` or `false` in a query string. */
export const QueryBoolean = () =>
  t
    .Transform(custom<boolean>("BooleanText", { type: "boolean" }))
    .Decode((value) => `${value}` === "true")
    .Encode((value) => value);

/** An id that must be a UUID: 400 for other text. */
export const Uuid = t.String({ format: "uuid", pattern: UUID.source.replaceAll("a-f", "a-fA-F") });
/** Returns the id, or for text that is no UUID the nil UUID (RFC 9562, 5.9), which no row has. */
export const uuidOrNil = (id: unknown) => (isUuid(id) ? id : MIN_UUID);
TypeRegistry.Set("PathId", () => true); // null where the path cannot be decoded, such as %f0
/** An id in a path that is 404 when it is no UUID: the handler gets the nil UUID, and no row has that. */
export const PathId = t
  .Transform(custom<string>("PathId", { type: "string" }))
  .Decode(uuidOrNil)
  .Encode((value) => value);
/** An id in a body that is 404 when it is no UUID. */
export const BodyId = (options: TextOptions = {}) =>
  t
    .Transform(Text(options))
    .Decode(uuidOrNil)
    .Encode((value) => value);
FormatRegistry.Set("date-time", isMoment);
/** A moment of an answer. */
export const DateTime = t.String({ format: "date-time" });
// What means the same in many answers.
const idOf = (description: string) => ({ ...Uuid, description });
export const Id = idOf("Its own id, which never changes");
export const OrganizationId = idOf("The organization that it belongs to");
export const CertificateId = idOf("The certificate");
export const AgentId = idOf("The agent");
export const AssignmentId = idOf("The assignment");
export const CreatedAt = { ...DateTime, description: "When it was made" };
export const UpdatedAt = { ...DateTime, description: "When it was last changed" };
export const Version = Type.Integer({ description: "Counts its changes; its ETag begins with it", examples: [1] });
/** A caller's date-time of the years 1 to 9999, whatever its offset; a handler gets it in UTC with at most microseconds. */
export const Moment = (options: { description?: string; examples?: string[] } = {}) =>
  t
    .Transform({ ...DateTime, ...options })
    .Decode((value) => writeMoment(readMoment(value)))
    .Encode((value) => value);
/** Not elysia's own, which takes "5" for a number. */
export const Integer = Type.Integer;
export const Nullable = <Schema extends TSchema>(schema: Schema) => t.Union([schema, t.Null()]);
export const OneOf = <const Values extends readonly string[]>(values: Values, options = {}) =>
  t.Unsafe<Values[number]>(
    t.Union(
      values.map((each) => t.Literal(each)),
      options,
    ),
  );

export const Email = t.String({ format: "email", maxLength: 254, pattern: "^[^\\s@]+@[^\\s@][^\\s@.]*\\.[^\\s@]+$" });

/** A page of a list: the items and, unless it is the last page, where the next one begins. */
export const NextCursor = Nullable(t.String({ description: "Send it as cursor to get the next page; null: this is the last" }));
export const Page = <Item extends TSchema>(item: Item) => Answer({ items: t.Array(item, { description: "At most limit of them" }), nextCursor: NextCursor });
export const PageQuery = { limit: QueryInteger({ minimum: 1, maximum: 100, default: 20 }), cursor: t.Optional(t.String({ maxLength: 400 })) };
