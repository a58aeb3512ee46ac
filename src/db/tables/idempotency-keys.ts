import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, primaryKey, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes } from "./columns";

const moment = () => timestamp({ withTimezone: true }).notNull().default(sql`now()`);

/** Writes that were sent with an Idempotency-Key in the last day, and what they were answered. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    caller: text().notNull(),
    /** SHA-256 of method, path and key. */
    keyHash: bytes().notNull(),
    bodyHash: bytes().notNull(),
    /** The attempt that holds it, in one process. */
    claimId: uuid().notNull(),
    /** Proves that the claim is of this caller and key: the answer is sealed for the claim. */
    stamp: bytes(),
    /** Set by the write itself, in its transaction. */
    isDone: boolean().notNull().default(false),
    /** Status, headers and body, sealed: some show a secret once. */
    answer: bytes(),
    size: integer().notNull().default(0),
    createdAt: moment(),
    /** The attempt's process says so every few seconds. */
    aliveAt: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.caller, table.keyHash] }),
    uniqueIndex().on(table.claimId),
    index().on(table.caller, table.createdAt),
    index().on(table.createdAt),
  ],
);
