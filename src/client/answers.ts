type Answer = { data: unknown; error: unknown };
type Operation = (...options: never[]) => Promise<Answer>;

/** The answer of an operation that was done. */
export type Data<Of extends Operation> = NonNullable<Awaited<ReturnType<Of>>["data"]>;
/** An element of the list that an operation answers. */
export type Item<Of extends Operation> = Data<Of> extends { items: (infer Each)[] } ? Each : never;

const SENTENCES: Record<number, string> = {
  401: "The token is missing or not valid.",
  409: "It conflicts with what is there.",
  412: "It has changed since it was read. Read it again, then decide.",
};

/** An answer that was a refusal, as `unwrap` and `items` throw it. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";

  constructor(
    readonly status: number,
    /** The body of the answer. */
    readonly value: unknown,
    /** Under which id the server's log has it. */
    readonly requestId: string | undefined,
  ) {
    super(sentenceOf(value) ?? SENTENCES[status] ?? `The server answered ${status}.`);
  }
}

function sentenceOf(value: unknown) {
  if (typeof value === "object" && value !== null && "message" in value) return String(value.message);
}

/** Returns the data of an answer. Throws a RefusedError, or what fetch itself threw where there was no answer. */
export async function unwrap<Given extends Answer>(answer: Promise<Given>): Promise<Exclude<Given["data"], null>> {
  const { data, error, response } = (await answer) as Answer & { response?: Response };
  if (!error) return data as Exclude<Given["data"], null>;
  const { status, value } = error as { status: number; value: unknown };
  if (response === undefined) throw value;
  throw new RefusedError(status, value, response.headers.get("x-request-id") ?? undefined);
}

type Options = { query?: Record<string, unknown> };
type List = { items: unknown[]; nextCursor?: string | null; page?: number; limit?: number; total?: number };

/** Yields all that a list has, page after page. Throws as `unwrap`. */
export async function* items<Of extends Operation>(list: Of, ...[options]: Parameters<Of>): AsyncGenerator<Item<Of>, void, undefined> {
  const ask = list as unknown as (options: Options) => Promise<Answer>;
  const given: Options = options ?? {};
  for (let next: Record<string, unknown> | undefined = {}; next; ) {
    const answer = (await unwrap(ask({ ...given, query: { ...given.query, ...next } }))) as List;
    yield* answer.items as Item<Of>[];
    next = nextPage(answer);
  }
}

/** Returns the query of the page after this one: lists have a cursor, the inbox counts pages. */
function nextPage({ nextCursor, page, limit = 0, total = 0 }: List) {
  if (nextCursor) return { cursor: nextCursor };
  if (page !== undefined && (page + 1) * limit < total) return { page: page + 1 };
}
