import { keyIdOf } from "#crypto/keyring";
import { type Facts, inJson, type Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { identityOf, statusFacts } from "#modules/certificates/certificates/queries/stamps";
import { policyFacts, policyFactsJson } from "#modules/fleet/assignment-policies/queries/stamps";
import { orderOf, removalOf, wholeOrderPairs } from "#modules/fleet/assignments/queries/stamps";
import { rolloutFacts, rolloutJson } from "#modules/fleet/rollouts/queries/stamps";
import { authorityFacts, authorityFactsJson } from "#modules/issuance/authorities/queries/stamps";
import { requestFacts, requestFactsJson } from "#modules/issuance/hosts/queries/asked-keys";
import { challengeFacts, challengeFactsJson } from "#modules/issuance/hosts/queries/challenge-facts";
import { issuerFacts, issuerFactsJson } from "#modules/issuance/issuers/queries";
import { apiTokenFacts, apiTokenFactsJson, memberFacts, memberFactsJson, platformAdminFacts, platformAdminFactsJson } from "#modules/people/roles/queries";

/** Rows looked at in one statement. */
const PAGE = 1_000;

// biome-ignore lint/suspicious/noExplicitAny: what a row's facts are is its own statement's affair
type Reads = (facts: any) => Facts;
/** `alias` is what `facts` calls the row; `held` names the column that says since when the row is held, where a stamp that holds ends that. */
type StampedColumn = { table: string; alias?: string; key: string[]; column: string; held?: string; facts: (sql: Sql) => Fragment; read: Reads };

const certificateJson = (sql: Sql) =>
  sql`json_build_object('organizationId', organization_id, 'id', id, 'fingerprintSha256', fingerprint_sha256, 'status', status)`;
const assignmentJson = (sql: Sql) => sql`json_build_object(${wholeOrderPairs(sql, "assignments")})`;
const [BY_ID, BY_AGENT] = [
  ["organization_id", "id"],
  ["organization_id", "agent_id", "id"],
];

/** Every column of stamps. A test asks of each column of that name whether it is here. */
export const STAMPED_COLUMNS: readonly StampedColumn[] = [
  { table: "certificates", key: BY_ID, column: "stamp", facts: certificateJson, read: identityOf },
  { table: "certificates", key: BY_ID, column: "status_stamp", facts: certificateJson, read: statusFacts },
  { table: "rollouts", key: BY_ID, column: "stamp", facts: rolloutJson, read: rolloutFacts },
  { table: "assignment_policies", alias: "p", key: BY_ID, column: "stamp", facts: policyFactsJson, read: policyFacts },
  { table: "assignments", key: BY_AGENT, column: "stamp", facts: assignmentJson, read: orderOf },
  {
    table: "assignments",
    key: BY_AGENT,
    column: "removal_stamp",
    facts: (sql) => sql`case when removing_since is not null then ${assignmentJson(sql)} end`,
    read: removalOf,
  },
  { table: "certificate_requests", alias: "r", key: BY_ID, column: "stamp", facts: (sql) => requestFactsJson(sql), read: requestFacts },
  {
    table: "host_challenges",
    key: BY_ID,
    column: "stamp",
    facts: (sql) => challengeFactsJson(sql, sql`host_challenges`),
    read: challengeFacts,
  },
  { table: "authorities", alias: "authority", key: BY_ID, column: "stamp", facts: authorityFactsJson, read: authorityFacts },
  { table: "issuers", key: BY_ID, column: "stamp", facts: issuerFactsJson, read: issuerFacts },
  { table: "members", key: BY_ID, column: "stamp", held: "held_since", facts: memberFactsJson, read: memberFacts },
  { table: "api_tokens", key: BY_ID, column: "stamp", held: "held_since", facts: apiTokenFactsJson, read: apiTokenFacts },
  {
    table: "users",
    key: ["id"],
    column: "platform_admin_stamp",
    held: "platform_admin_held_since",
    facts: platformAdminFactsJson,
    read: platformAdminFacts,
  },
];

/** Which stamps are made again: those that do not hold, because an administrator trusts what stands there, or those of another key than the first. */
export type Choice = "what does not hold" | "what a former key stamped";
export type Restamped = { table: string; column: string; stamped: number; unproven: number };
type Row = { key: string[]; facts: object; stamp: string | null };

/** Stamps rows of the whole database, page by page, while others read and write. Each row that is done stays done. */
export async function restampAll(sql: Sql, stamps: Stamps, keyId: string, choice: Choice, tell: (soFar: Restamped) => void = () => {}): Promise<Restamped[]> {
  const totals: Restamped[] = [];
  for (const column of STAMPED_COLUMNS) {
    const total = { table: column.table, column: column.column, stamped: 0, unproven: 0 };
    for await (const rows of pages(sql, column)) {
      const isProven = ({ facts, stamp }: Row) => stamps.isStamped(stamp === null ? null : Buffer.from(stamp, "hex"), column.read(facts));
      const isFormer = ({ stamp }: Row) => stamp !== null && keyIdOf(Buffer.from(stamp, "hex")) !== keyId;
      const { true: proven = [], false: unproven = [] } = Object.groupBy(rows, (row) => `${isProven(row)}`);
      const due = choice === "what does not hold" ? unproven : proven.filter(isFormer);
      if (due.length > 0) total.stamped += await write(sql, stamps, column, due);
      if (choice === "what a former key stamped") total.unproven += unproven.length;
      if (due.length > 0) tell(total);
    }
    totals.push(total);
  }
  return totals;
}

/** Pages in the order of the primary key. */
async function* pages(sql: Sql, { table, alias = table, key, column, facts }: StampedColumn) {
  let last = key.map(() => MIN_UUID);
  for (;;) {
    const rows = await sql<Row[]>`
      select json_build_array(${sql.text(key.join(", "))}) as key, ${facts(sql)} as facts, encode(${sql.text(column)}, 'hex') as stamp
      from ${sql.text(`${table} as ${alias}`)}
      where (${sql.text(key.join(", "))}) > (select ${sql.text(key.map((_, index) => `(given->>${index})::uuid`).join(", "))} from (select ${JSON.stringify(last)}::jsonb as given) as last)
      order by ${sql.text(key.join(", "))} limit ${PAGE}`;
    yield rows.filter((row) => row.facts !== null);
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return;
    last = end.key;
  }
}

/** Writes a stamp only while the one before it is that which was read: what was ordered meanwhile has its own. */
async function write(sql: Sql, stamps: Stamps, { table, key, column, held, read }: StampedColumn, rows: Row[]) {
  const given = rows.map(({ key, facts, stamp }) => ({ key, former: stamp && `\\x${stamp}`, stamp: inJson(stamps.of(read(facts))) }));
  const isRow = key.map((name, index) => `t.${name} = (given.key->>${index})::uuid`).join(" and ");
  const { count } = await sql`
    update ${sql.text(table)} t set ${sql.text(column)} = given.stamp ${sql.text(held ? `, ${held} = null` : "")} from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (key jsonb, former bytea, stamp bytea)
    where ${sql.text(isRow)} and t.${sql.text(column)} is not distinct from given.former`;
  return count;
}
