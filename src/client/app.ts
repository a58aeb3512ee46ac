import type { Elysia } from "elysia";
import type { createApp } from "#app";

type Message = { message: string };

/** Any operation may answer these besides its own. */
type Unforeseen = { 413: Message; 415: Message; 429: Message; 500: Message; 503: Message };

/** Headers that a write may carry. */
type WriteHeaders = { "if-match"?: string; "idempotency-key"?: string };

type Operation = { body: unknown; params: unknown; query: unknown; headers: unknown; response: unknown };

/** True for a field of a query that is a number with a default (`Defaulted` of http/schema). */
type HasDefault<Field> = "~default" extends keyof Field ? true : false;

type PublishedQuery<Query> = unknown extends Query
  ? unknown
  : { [Key in keyof Query as HasDefault<Query[Key]> extends true ? never : Key]: Query[Key] } & {
      [Key in keyof Query as HasDefault<Query[Key]> extends true ? Key : never]?: number;
    };

/** Those that say in which organization and as whom a caller comes are sent by the client with each request. */
type PublishedHeaders<Headers> = unknown extends Headers ? unknown : { [Key in keyof Headers]?: Headers[Key] };

/** The statuses that only this operation has. Elysia adds a 422 to the types, which this server never answers. */
type Own<Answers> = Exclude<keyof Answers, 422 | keyof Unforeseen>;
/** A bare Response has no type of its own. */
type AnswerType<Answer> = Answer extends Response ? unknown : Answer;

/** Without a name of its own for an operation, so that declarations spell it out. */
type Published<Routes> = {
  [Method in keyof Routes]: Routes[Method] extends Operation
    ? {
        body: Routes[Method]["body"];
        params: Routes[Method]["params"];
        query: PublishedQuery<Routes[Method]["query"]>;
        headers: PublishedHeaders<Routes[Method]["headers"]> & (Method extends "get" ? unknown : WriteHeaders);
        response: Routes[Method]["response"] extends infer Answers ? { [Status in Own<Answers>]: AnswerType<Answers[Status]> } & Unforeseen : never;
      }
    : Published<Routes[Method]>;
} & {};

type Routes = ReturnType<typeof createApp>["~Routes"];
declare function publish<ServerRoutes>(): Published<ServerRoutes>;

/** Inferred, so that its emitted declaration holds the routes themselves and imports nothing of the server. It has no value. */
const routes = publish<Routes>();

/** The server's operations, as its callers see them. */
export type App = Elysia<"", Singleton, Definitions, Metadata, typeof routes>;

// biome-ignore lint/complexity/noBannedTypes: what Elysia writes for nothing
type None = {};
type Singleton = { decorator: None; store: None; derive: None; resolve: None };
type Definitions = { typebox: None; error: None };
type Metadata = { schema: None; standaloneSchema: None; macro: None; macroFn: None; parser: None; response: None };
