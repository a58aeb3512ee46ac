import { sql } from "drizzle-orm";
import { bigint, boolean, date, index, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { organizationId } from "./organizations";

// What is counted as it is written, so that a dashboard reads no million rows. Triggers fill these tables, in the transaction of the
// write, and whichever release writes. What many writers would wait for each other to change is appended to `…_changes` and added up later.

/** Last among the columns: what triggers insert does not name it. */
const number = () => bigint({ mode: "number" }).generatedByDefaultAsIdentity();
/** The properties by which dashboards group certificates. */
const kind = { issuer: text().notNull(), keyAlgorithm: text(), keySize: integer(), keyCurve: text(), signatureAlgorithm: text() };

export const certificateKinds = pgTable(
  "certificate_kinds",
  { organizationId: organizationId(), /** Of the SHA-256 of the rest. */ id: uuid().notNull(), ...kind },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

/**
 * Active certificates by when they end: of a kind by `day` and by `month`, and of all kinds by day (`all`), there for all
 * organizations too (the nil UUID).
 */
export const certificateCounts = pgTable(
  "certificate_counts",
  { organizationId: organizationId(), span: text().notNull(), starts: date().notNull(), kindId: uuid().notNull(), count: integer().notNull() },
  (table) => [primaryKey({ columns: [table.organizationId, table.span, table.starts, table.kindId] })],
);

/** Active certificates that came (1, or several) or went (-1) since the counts were last brought up to date. */
export const certificateChanges = pgTable(
  "certificate_changes",
  { organizationId: organizationId(), endsOn: date().notNull(), ...kind, change: integer().notNull(), id: number() },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

/** How many agents of a platform have the same assignments: these so many times in stores of these types. */
export const coverageProfiles = pgTable(
  "coverage_profiles",
  {
    organizationId: organizationId(),
    /** Of the SHA-256 of platform, stores, materials, enabled and times. */
    id: uuid().notNull(),
    platform: text().notNull(),
    stores: text().array().notNull(),
    materials: text().array().notNull(),
    enabled: boolean().array().notNull(),
    times: integer().array().notNull(),
    agents: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    index("coverage_profiles_empty_index").on(table.organizationId).where(sql`agents = 0`),
  ],
);

/** Which profile an agent was counted in. */
export const coverageAgents = pgTable(
  "coverage_agents",
  { organizationId: organizationId(), agentId: uuid().notNull(), profileId: uuid().notNull() },
  (table) => [primaryKey({ columns: [table.organizationId, table.agentId] })],
);

/** Agents of which a platform or an assignment changed since. */
export const coverageChanges = pgTable("coverage_changes", { organizationId: organizationId(), agentId: uuid().notNull(), id: number() }, (table) => [
  primaryKey({ columns: [table.organizationId, table.id] }),
]);

/** How many of a thousand positions in an inbox were read one by one: block 0 holds the positions 1 to 1,000. */
export const inboxReads = pgTable("inbox_reads", { userId: uuid().notNull(), block: integer().notNull(), count: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.userId, table.block] }),
]);
