import { foreignKey, integer, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agents";
import { bytes, id, moment, now } from "./columns";
import { organizationId } from "./organizations";

/** The tokens that hosts join with. A deleted token leaves no row; the audit trail keeps its maker and the hosts that joined. */
export const joinTokens = pgTable(
  "join_tokens",
  {
    organizationId: organizationId(),
    id: id(),
    labels: jsonb().notNull(),
    maxUses: integer().notNull(),
    uses: integer().notNull().default(0),
    /** The one agent that it is for: a use replaces the key of this agent. Without one, each use makes an agent. */
    agentId: uuid(),
    tokenHash: bytes().notNull(),
    createdBy: jsonb().notNull(),
    expiresAt: moment().notNull(),
    /** Proves that a server made it, with what it lets in. */
    stamp: bytes(),
    version: integer().notNull().default(1),
    createdAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.tokenHash),
    uniqueIndex().on(table.organizationId, table.agentId),
    foreignKey({ columns: [table.organizationId, table.agentId], foreignColumns: [agents.organizationId, agents.id] }).onDelete("cascade"),
  ],
);

/** Credentials of a day, each worth nothing without the agent's key. */
export const agentCredentials = pgTable(
  "agent_credentials",
  {
    organizationId: organizationId(),
    agentId: uuid().notNull(),
    id: id(),
    tokenHash: bytes().notNull(),
    expiresAt: moment().notNull(),
    /** The newest nonce that was answered with a desired state: nonces are UUIDv7, so a request that is played back has an older one. */
    lastNonce: uuid(),
    /** Proves that a server gave it to the agent. */
    stamp: bytes(),
    createdAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.agentId, table.id] }),
    uniqueIndex().on(table.tokenHash),
    foreignKey({ columns: [table.organizationId, table.agentId], foreignColumns: [agents.organizationId, agents.id] }).onDelete("cascade"),
  ],
);

/** The keys that sign desired states; the highest generation of an organization signs. */
export const signingKeys = pgTable(
  "signing_keys",
  {
    organizationId: organizationId(),
    id: id(),
    generation: integer().notNull(),
    /** Ed25519, base64url. */
    publicKey: text().notNull(),
    /** None once the next generation signs. */
    sealedPrivateKey: bytes(),
    /** The signature of the generation before, by which agents follow; none of the first. */
    endorsement: text(),
    createdBy: jsonb().notNull(),
    createdAt: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.organizationId, table.generation)],
);
