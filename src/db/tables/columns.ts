import { sql } from "drizzle-orm";
import { customType, timestamp, uuid } from "drizzle-orm/pg-core";

/** Time-ordered ids, so that new rows land at the end of every index. */
export const id = () =>
  uuid()
    .notNull()
    .$defaultFn(() => Bun.randomUUIDv7());
export const moment = () => timestamp({ withTimezone: true, precision: 3 });
export const now = () => moment().notNull().default(sql`now()`);
export const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
