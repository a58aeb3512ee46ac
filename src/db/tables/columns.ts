import { sql } from "drizzle-orm";
import { boolean, customType, integer, jsonb, text, timestamp, uuid } from "drizzle-orm/pg-core";

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

/** The version of a row that callers change with If-Match, and the moments of its creation and last change. */
export const versioned = () => ({ version: integer().notNull().default(1), createdAt: now(), updatedAt: now() });

/** The certificate that a store gets, and how: of an assignment, and of a policy that gives it to agents. */
export const assigned = () => ({
  certificateId: uuid().notNull(),
  applicationId: text().notNull(),
  trustStoreType: text().notNull(),
  materialType: text().notNull(),
  includePrivateKey: boolean().notNull(),
  config: jsonb().notNull(),
  /** Its place in the store; the same certificate has a place only once. */
  target: text().notNull(),
  autoRenew: boolean().notNull(),
  enabled: boolean().notNull(),
});

/** The connection to another system: of connections, and of issuers. */
export const connected = () => ({
  kind: text().notNull(),
  name: text().notNull(),
  /**
   * The name without its case and Unicode form, by the function of that name in 0061; the triggers there fill it for the
   * release before.
   */
  nameKey: text().notNull(),
  config: jsonb().notNull(),
  /** The secrets as sealed JSON, and their names, which may be shown. */
  sealedSecrets: bytes(),
  secretNames: jsonb().notNull().default([]),
});
