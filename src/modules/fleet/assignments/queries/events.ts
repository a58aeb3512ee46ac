import type { Fragment } from "postgres";
import type { Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { pairs } from "./columns";

/** What decides what is installed on a host and which command runs there, of the assignment row `a`. The config names passwords, it never holds one. */
const facts = (sql: Sql, alias: string) => sql`jsonb_build_object('agentId', ${sql.unsafe(alias)}.agent_id, ${pairs(sql, alias)})`;

/** The same with a key for each field of the config, such as `config.reloadCommand`. */
const flatFacts = (sql: Sql, alias: string) => sql`
  ${facts(sql, alias)} - 'config' || coalesce((select jsonb_object_agg('config.' || key, value) from jsonb_each(${sql.unsafe(alias)}.config)), '{}')`;

type Whole = "assignment.created" | "assignment.deleted";

/** Part of a writing statement: an audit event with all facts for each assignment of `rows`; `more` adds names and values. */
export const auditAssignments = (sql: Sql, scope: Scope, action: Whole, rows: Fragment, more = sql`'{}'::jsonb`) =>
  audit(sql, scope, action, sql`select id, ${more} || ${facts(sql, "written")} from ${rows} as written`);

/** Part of a writing statement: an audit event with the old and new value of each changed fact; the one row of `before` became that of `after`. */
export function auditChange(sql: Sql, scope: Scope, before: Fragment, after: Fragment) {
  const changes = sql`
    select id, jsonb_build_object('changes', (
      select jsonb_object_agg(key, jsonb_build_object('from', old->key, 'to', new->key)) from jsonb_object_keys(old || new) as key
      where old->key is distinct from new->key))
    from (select after.id, ${flatFacts(sql, "before")} as old, ${flatFacts(sql, "after")} as new from ${before} as before cross join ${after} as after) as states`;
  return audit(sql, scope, "assignment.updated", changes);
}
