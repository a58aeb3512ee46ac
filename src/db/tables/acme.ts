import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { moment } from "./columns";

/** What this server answers at /.well-known/acme-challenge while orders are validated. The CA makes the token, and knows no organizations. */
export const acmeHttpAnswers = pgTable(
  "acme_http_answers",
  {
    token: text().primaryKey(),
    organizationId: uuid().notNull(),
    requestId: uuid().notNull(),
    keyAuthorization: text().notNull(),
    expiresAt: moment().notNull(),
  },
  (table) => [index().on(table.organizationId, table.requestId)],
);
