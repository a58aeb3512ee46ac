import { sql } from "drizzle-orm";
import { customType, timestamp, uuid } from "drizzle-orm/pg-core";

/** Time-ordered ids, so that new rows land at the end of every index. */
export const id = () =>
  uuid()
    .notNull()
    .$defaultFn(() => Bun.randomUUIDv7());
/** A moment that the server notes itself, to the millisecond. */
export const moment = (name = "") => timestamp(name, { withTimezone: true, precision: 3 });
/** A moment that a caller sends, to the microsecond. */
export const exactMoment = () => timestamp({ withTimezone: true, precision: 6 });
export const now = () => moment().notNull().default(sql`now()`);
export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
