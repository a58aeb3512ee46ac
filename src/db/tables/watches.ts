import { index, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { moment } from "./columns";

// When jobs review next what has no writer of its own: silence, and dates that come. Triggers keep these rows, whichever release writes.

/** Agents that were seen and are not known to be silent. Reviewed once in the time after which one is silent, however often it is seen. */
export const agentWatch = pgTable("agent_watch", { organizationId: uuid().notNull(), agentId: uuid().notNull(), dueAt: moment().notNull() }, (table) => [
  primaryKey({ columns: [table.organizationId, table.agentId] }),
  index().on(table.dueAt),
]);

/** Certificates that are evidence of a control. */
export const controlEvidence = pgTable(
  "control_evidence",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    controlId: uuid().notNull(),
    /** Null while nothing but a change of its status can make a difference. */
    dueAt: moment(),
    /** Since when the certificate is not active. */
    brokenSince: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.controlId, table.certificateId] }),
    index().on(table.organizationId, table.certificateId),
    index().on(table.dueAt),
  ],
);

/** API tokens that expire, and agents whose access ends. */
export const credentialWatch = pgTable(
  "credential_watch",
  {
    organizationId: uuid().notNull(),
    subjectId: uuid().notNull(),
    /** "API token" or "agent credential". */
    credential: text().notNull(),
    /** The time of the last review: earlier causes are dispatched, or never will be. */
    lookedAt: moment().notNull(),
    dueAt: moment().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.subjectId] }), index().on(table.dueAt)],
);
