import { UUID } from "#text/uuid";
import { Refusal } from "./errors";
import { jsonText } from "./respond";

type ListedRow = { json: string; key: string[] };

/** `rows` may hold one more than `limit`: then there is a next page, which begins after the last row of this one. */
export function page(rows: ListedRow[], limit: number) {
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? encodeCursor(shown.at(-1)?.key ?? []) : null;
  return jsonText(`{"items":[${shown.map((row) => row.json).join(",")}],"nextCursor":${JSON.stringify(next)}}`);
}

/** For a list inside another answer; `page` does it for the rest. */
export const encodeCursor = (key: string[]) => Buffer.from(JSON.stringify(key)).toString("base64url");

type Pattern = { test: (text: string) => boolean };

/** The sort key of the row before the page; each part must look like its pattern, or the cursor is not one of ours. */
export function readCursor<const Patterns extends Pattern[]>(cursor: string | undefined, ...patterns: Patterns) {
  if (cursor === undefined) return;
  const key = parse(cursor);
  if (!Array.isArray(key) || key.length !== patterns.length || !patterns.every((pattern, index) => typeof key[index] === "string" && pattern.test(key[index])))
    throw new Refusal(400, "query.cursor must be the nextCursor of an earlier answer.");
  return key as { [Index in keyof Patterns]: string };
}

/** In lower case, as Postgres writes it. */
export const UUID_PART = new RegExp(UUID.source);

type SentPage = { limit: number; cursor?: string | undefined };
/** The page of a query, of a list whose cursor is an id: the newest first. */
export const pageBefore = ({ limit, cursor }: SentPage) => ({ limit, before: readCursor(cursor, UUID_PART)?.[0] });
/** The same of a list in the order of ids. */
export const pageAfter = ({ limit, cursor }: SentPage) => ({ limit, after: readCursor(cursor, UUID_PART)?.[0] });

/** A moment of the calendar as iso() writes it: what only looks like one, Postgres would choke on. */
export const TIME_PART: Pattern = { test: (text) => /^\d{4,5}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z$/.test(text) && isMoment(text) };

function isMoment(text: string) {
  const milliseconds = text.replace(/(\.\d{3})\d{3}Z/, "$1Z");
  const whole = milliseconds.length === 24 ? milliseconds : `+0${milliseconds}`;
  const moment = new Date(whole);
  return !text.startsWith("0000") && !Number.isNaN(moment.getTime()) && moment.toISOString() === whole;
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return;
  }
}
