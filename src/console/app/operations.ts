import type { App } from "#client/app";

type Operation = { body: unknown; query: unknown; response: unknown };
export type Readable = { get: Operation };
export type Method = "POST" | "PATCH" | "PUT" | "DELETE";
/** A path with an operation of this method. */
export type Writable<Of extends Method> = { [Name in Lowercase<Of>]: Operation };

declare const OPERATIONS: unique symbol;
/** A path of the API. Its type has the operations there, so that a call of it knows what is sent and answered. */
export type Address<There = unknown> = string & { readonly [OPERATIONS]: There };

type Server = App["~Routes"];
type Organization = Server["organizations"][":organizationId"];

/** The operations at a path below others. A text that is known only when the page runs is a parameter of the path. */
type Below<There, Parts extends readonly unknown[]> = Parts extends readonly [infer First, ...infer Rest] ? Below<Step<There, First>, Rest> : There;
type Step<There, Part> = Part extends keyof There
  ? There[Part]
  : string extends Part
    ? There[keyof There & `:${string}`]
    : { "The API has no such path": Part };

export type AddressOf<Parts extends readonly unknown[]> = Address<Below<Server, Parts>>;
export type OrganizationAddress<Parts extends readonly unknown[]> = Address<Below<Organization, Parts>>;
export type AddressBelow<There, Parts extends readonly unknown[]> = Address<Below<There, Parts>>;

type Done = 200 | 201 | 202 | 204;
/** The JSON of an operation that was done; a 204 has none. */
export type AnswerOf<Of> = Of extends { response: infer Answers }
  ? { [Status in keyof Answers & Done]: Status extends 204 ? undefined : Answers[Status] }[keyof Answers & Done]
  : never;
/** An element of the list that a path answers. */
export type RowOf<There extends Readable> = AnswerOf<There["get"]> extends { items: (infer Row)[] } ? Row : never;

/** Names of fields, in each of several types. */
type Names<Types> = Types extends unknown ? keyof Types : never;
type Fields<Types, Value> = { [Name in Names<Types>]?: Value };
export type QueryOf<Of> = Of extends Operation ? Fields<Of["query"], string | number | boolean | undefined> : never;
/** Names alone are checked: values come from forms, and the server judges them. */
export type BodyOf<Of> = Of extends Operation ? Fields<Of["body"], unknown> | FormData : never;

/** Answers by the path that gives them: `InOrganization<["agents", string]>`, and an element of a list, `RowInOrganization<["agents"]>`. */
export type InOrganization<Parts extends readonly unknown[]> = Below<Organization, Parts> extends { get: infer Of } ? AnswerOf<Of> : never;
export type RowInOrganization<Parts extends readonly unknown[]> = InOrganization<Parts> extends { items: (infer Row)[] } ? Row : never;
export type OnServer<Parts extends readonly unknown[]> = Below<Server, Parts> extends { get: infer Of } ? AnswerOf<Of> : never;
export type RowOnServer<Parts extends readonly unknown[]> = OnServer<Parts> extends { items: (infer Row)[] } ? Row : never;
/** The answer of a write. */
export type Written<Of extends Method, Parts extends readonly unknown[]> =
  Below<Organization, Parts> extends infer There ? (There extends Writable<Of> ? AnswerOf<There[Lowercase<Of>]> : never) : never;
