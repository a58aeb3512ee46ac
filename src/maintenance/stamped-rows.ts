import { keyIdOf } from "#crypto/keyring";
import { type Facts, fromHex, inJson, type Kind, type Level, levelOf, type Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { claimFacts, claimFactsJson } from "#db/idempotency-keys";
import { MIN_UUID } from "#db/ids";
import { formerStatusFacts, identityOf, statusFacts } from "#modules/certificates/certificates/queries/stamps";
import { connectionFacts, connectionFactsJson } from "#modules/core/connectors/queries";
import {
  agentFacts,
  agentFactsJson,
  credentialFacts,
  credentialFactsJson,
  joinTokenFacts,
  joinTokenFactsJson,
} from "#modules/fleet/agent-access/queries/stamps";
import { orderOf, removalOf, wholeOrderPairs } from "#modules/fleet/assignments/queries/stamps";
import { policyFacts, policyFactsJson } from "#modules/fleet/rollouts/queries/policy-stamps";
import { rolloutFacts, rolloutJson } from "#modules/fleet/rollouts/queries/stamps";
import { answerFacts, answerFactsJson } from "#modules/issuance/acme/queries/answers";
import { authorityFacts, authorityFactsJson } from "#modules/issuance/authorities/queries/stamps";
import { issuerFacts, issuerFactsJson } from "#modules/issuance/issuers/queries/issuers";
import { requestFacts, requestFactsJson } from "#modules/issuance/requests/queries/asked-keys";
import { challengeFacts, challengeFactsJson } from "#modules/issuance/requests/queries/challenge-facts";
import { apiTokenFacts, apiTokenFactsJson, memberFacts, memberFactsJson, platformAdminFacts, platformAdminFactsJson } from "#modules/people/roles/queries";

/** Rows read in one statement. */
const PAGE = 1_000;

// biome-ignore lint/suspicious/noExplicitAny: what a row's facts are is its own statement's affair
type Reads = (facts: any) => Facts;
/**
 * `key` are UUIDs, or text where `keyIsText`; `alias` is the row's name in `facts`; `held` names the column with the time since
 * the row is held; `formerly` reads an earlier release's facts.
 */
type StampedColumn = {
  kind: Kind;
  table: string;
  alias?: string;
  key: string[];
  keyIsText?: true;
  column: string;
  held?: string;
  facts: (sql: Sql) => Fragment;
  read: Reads;
  formerly?: Reads;
};

const certificateJson = (sql: Sql) =>
  sql`json_build_object('organizationId', organization_id, 'id', id, 'fingerprintSha256', fingerprint_sha256, 'status', status, 'isRevoked', revoked_at is not null)`;
const assignmentJson = (sql: Sql) => sql`json_build_object(${wholeOrderPairs(sql, "assignments")})`;
const [BY_ID, BY_AGENT] = [
  ["organization_id", "id"],
  ["organization_id", "agent_id", "id"],
];

/** Every column of stamps. A test asks of each column of that name whether it is here. */
export const STAMPED_COLUMNS: readonly StampedColumn[] = [
  { kind: "certificate", table: "certificates", key: BY_ID, column: "stamp", facts: certificateJson, read: identityOf },
  {
    kind: "certificate status",
    table: "certificates",
    key: BY_ID,
    column: "status_stamp",
    facts: certificateJson,
    read: statusFacts,
    formerly: formerStatusFacts,
  },
  { kind: "rollout", table: "rollouts", key: BY_ID, column: "stamp", held: "held_since", facts: rolloutJson, read: rolloutFacts },
  { kind: "policy", table: "assignment_policies", alias: "p", key: BY_ID, column: "stamp", held: "held_since", facts: policyFactsJson, read: policyFacts },
  { kind: "assignment", table: "assignments", key: BY_AGENT, column: "stamp", facts: assignmentJson, read: orderOf },
  {
    kind: "removal",
    table: "assignments",
    key: BY_AGENT,
    column: "removal_stamp",
    facts: (sql) => sql`case when removing_since is not null then ${assignmentJson(sql)} end`,
    read: removalOf,
  },
  {
    kind: "certificate-request",
    table: "certificate_requests",
    alias: "r",
    key: BY_ID,
    column: "stamp",
    facts: (sql) => requestFactsJson(sql),
    read: requestFacts,
  },
  {
    kind: "host-challenge",
    table: "host_challenges",
    key: BY_ID,
    column: "stamp",
    facts: (sql) => challengeFactsJson(sql, sql`host_challenges`),
    read: challengeFacts,
  },
  { kind: "authority", table: "authorities", alias: "authority", key: BY_ID, column: "stamp", facts: authorityFactsJson, read: authorityFacts },
  { kind: "issuer", table: "issuers", key: BY_ID, column: "stamp", facts: issuerFactsJson, read: issuerFacts },
  { kind: "member", table: "members", key: BY_ID, column: "stamp", held: "held_since", facts: memberFactsJson, read: memberFacts },
  { kind: "api-token", table: "api_tokens", key: BY_ID, column: "stamp", held: "held_since", facts: apiTokenFactsJson, read: apiTokenFacts },
  {
    kind: "platform-admin",
    table: "users",
    key: ["id"],
    column: "platform_admin_stamp",
    held: "platform_admin_held_since",
    facts: platformAdminFactsJson,
    read: platformAdminFacts,
  },
  { kind: "agent", table: "agents", key: BY_ID, column: "stamp", held: "held_since", facts: (sql) => agentFactsJson(sql), read: agentFacts },
  { kind: "agent-credential", table: "agent_credentials", key: BY_AGENT, column: "stamp", facts: credentialFactsJson, read: credentialFacts },
  { kind: "join-token", table: "join_tokens", key: BY_ID, column: "stamp", facts: joinTokenFactsJson, read: joinTokenFacts },
  { kind: "connection", table: "connections", key: BY_ID, column: "stamp", facts: connectionFactsJson, read: connectionFacts },
  { kind: "http-answer", table: "acme_http_answers", key: ["token"], keyIsText: true, column: "stamp", facts: answerFactsJson, read: answerFacts },
  { kind: "idempotency-key", table: "idempotency_keys", key: ["claim_id"], column: "stamp", facts: claimFactsJson, read: claimFacts },
];

export const columnsOf = (levels: readonly Level[]) => STAMPED_COLUMNS.filter(({ kind }) => levels.includes(levelOf(kind)));

/**
 * The rows to stamp: those without a stamp (an upgrade's first start), without a valid one (an administrator trusts them, or
 * the upgrade ends), or with one of a former key.
 */
type Choice = "what has none" | "what does not hold" | "what a former key stamped";
export type Restamped = { table: string; column: string; stamped: number; unproven: number };
const isProven = (stamps: Stamps, { read, formerly = read }: StampedColumn, { facts, stamp }: StampedRow) =>
  [read, formerly].some((each) => stamps.isStamped(fromHex(stamp), each(facts)));
const hasNone = ({ stamp }: StampedRow) => stamp === null;
type StampedRow = { key: string[]; facts: object; stamp: string | null };

type Choosing = { choice: Choice; levels: readonly Level[]; keyId: string };

/** Stamps rows of the whole database, page by page, while others read and write. Each row that is done stays done. */
export async function restampAll(
  sql: Sql,
  stamps: Stamps,
  { choice, levels, keyId }: Choosing,
  report: (soFar: Restamped) => void = () => {},
): Promise<Restamped[]> {
  const totals: Restamped[] = [];
  for (const column of columnsOf(levels)) {
    const total = { table: column.table, column: column.column, stamped: 0, unproven: 0 };
    for await (const rows of pages(sql, column)) {
      const isFormer = ({ stamp }: StampedRow) => stamp !== null && keyIdOf(Buffer.from(stamp, "hex")) !== keyId;
      const { true: proven = [], false: unproven = [] } = Object.groupBy(rows, (row) => `${isProven(stamps, column, row)}`);
      const due = {
        "what has none": () => unproven.filter(hasNone),
        "what does not hold": () => unproven,
        "what a former key stamped": () => proven.filter(isFormer),
      }[choice]();
      if (due.length > 0) total.stamped += await write(sql, stamps, column, due);
      if (choice === "what a former key stamped") total.unproven += unproven.length;
      if (due.length > 0) report(total);
    }
    totals.push(total);
  }
  return totals;
}

/** Returns how many rows of each table have no stamp that holds. Reads the whole database, and writes nothing. */
export async function countUnproven(sql: Sql, stamps: Stamps) {
  const counts = new Map<string, number>();
  for (const column of STAMPED_COLUMNS)
    for await (const rows of pages(sql, column)) {
      const unproven = rows.filter((row) => !isProven(stamps, column, row)).length;
      if (unproven > 0) counts.set(column.table, (counts.get(column.table) ?? 0) + unproven);
    }
  return counts;
}

/** Pages in the order of the primary key. */
async function* pages(sql: Sql, { table, alias = table, key, keyIsText, column, facts }: StampedColumn) {
  let last: string[] = key.map(() => (keyIsText ? "" : MIN_UUID));
  for (;;) {
    const rows = await sql<StampedRow[]>`
      select json_build_array(${sql.text(key.join(", "))}) as key, ${facts(sql)} as facts, encode(${sql.text(column)}, 'hex') as stamp
      from ${sql.text(`${table} as ${alias}`)}
      where (${sql.text(key.join(", "))}) > (select ${sql.text(key.map((_, index) => `(given->>${index})::${typeOf(keyIsText)}`).join(", "))} from (select ${JSON.stringify(last)}::jsonb as given) as last)
      order by ${sql.text(key.join(", "))} limit ${PAGE}`;
    yield rows.filter((row) => row.facts !== null);
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return;
    last = end.key;
  }
}

const typeOf = (keyIsText: true | undefined) => (keyIsText ? "text" : "uuid");

/** Writes a stamp only while the one before it is that which was read: what was ordered meanwhile has its own. */
async function write(sql: Sql, stamps: Stamps, { table, key, keyIsText, column, held, read }: StampedColumn, rows: StampedRow[]) {
  const given = rows.map(({ key, facts, stamp }) => ({ key, former: stamp && `\\x${stamp}`, stamp: inJson(stamps.of(read(facts))) }));
  const isRow = key.map((name, index) => `t.${name} = (given.key->>${index})::${typeOf(keyIsText)}`).join(" and ");
  const { count } = await sql`
    update ${sql.text(table)} t set ${sql.text(column)} = given.stamp ${sql.text(held ? `, ${held} = null` : "")} from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (key jsonb, former bytea, stamp bytea)
    where ${sql.text(isRow)} and t.${sql.text(column)} is not distinct from given.former`;
  return count;
}
