import type postgres from "postgres";

/** The schema of the lean tables. */
export const LEAN = "lean";

/** The keys and indexes that the plain work needs, by table. */
const INDEXES = {
  members: ["primary key (organization_id, id)"],
  certificates: ["primary key (organization_id, id)", "(organization_id, not_after)"],
  agents: ["primary key (organization_id, id)"],
  assignments: ["primary key (organization_id, id)", "(organization_id, agent_id)", "(organization_id, certificate_id)"],
  ai_systems: ["primary key (organization_id, id)", "(organization_id, key)"],
  metric_samples: ["primary key (organization_id, system_id, metric, recorded_at, labels_hash)"],
  inboxes: ["primary key (user_id)"],
  notices: ["primary key (user_id, position)"],
};

/** Copies the tables that peers work on, with their rows, into a schema where they have no trigger, no partition and few indexes. */
export async function makeLeanTables(sql: postgres.Sql) {
  await sql.unsafe(`create schema ${LEAN}`);
  for (const [table, indexes] of Object.entries(INDEXES)) {
    const lean = `${LEAN}.${table}`;
    await sql.unsafe(`create table ${lean} (like ${table} including defaults including generated); insert into ${lean} select * from ${table}`);
    for (const index of indexes) await sql.unsafe(index.startsWith("primary") ? `alter table ${lean} add ${index}` : `create index on ${lean} ${index}`);
  }
  await sql`vacuum (analyze)`;
}
