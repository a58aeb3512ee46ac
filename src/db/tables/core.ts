import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { bytes, id, moment, now } from "./columns";
import { organizationId } from "./organizations";

export const connections = pgTable(
  "connections",
  {
    organizationId: organizationId(),
    id: id(),
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
    /** Proves that a server has set its kind and config, which say where the secrets go. */
    stamp: bytes(),
    testedAt: moment(),
    testOutcome: text(),
    testMessage: text(),
    version: integer().notNull().default(1),
    createdAt: now(),
    updatedAt: now(),
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
    version: integer().notNull().default(1),
    createdAt: now(),
    updatedAt: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), index().on(table.organizationId, table.dashboard, table.y)],
);
