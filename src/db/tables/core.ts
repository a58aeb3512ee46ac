import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { bytes, connected, id, moment, versioned } from "./columns";
import { organizationId } from "./organizations";

export const connections = pgTable(
  "connections",
  {
    organizationId: organizationId(),
    id: id(),
    ...connected(),
    /** Proves that a server has set its kind and config, which say where the secrets go. */
    stamp: bytes(),
    testedAt: moment(),
    testOutcome: text(),
    testMessage: text(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.organizationId, table.name),
    uniqueIndex().on(table.organizationId, table.nameKey),
  ],
);

export const widgets = pgTable(
  "widgets",
  {
    organizationId: organizationId(),
    id: id(),
    dashboard: text().notNull(),
    kind: text().notNull(),
    title: text().notNull(),
    settings: jsonb().notNull(),
    x: integer().notNull(),
    y: integer().notNull(),
    width: integer().notNull(),
    height: integer().notNull(),
    ...versioned(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), index().on(table.organizationId, table.dashboard, table.y)],
);
