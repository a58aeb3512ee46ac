import type { Fragment, Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { pairs } from "./columns";

/** What decides what is installed on a host and which command runs there, of the assignment row `a`. The config names passwords, it never holds one. */
const facts = (sql: Sql, alias: string) => sql`jsonb_build_object('agentId', ${sql.text(alias)}.agent_id, ${pairs(sql, alias)})`;

/** The old and new value of each key that differs between two jsonb objects, the keys after a prefix; null where none does. */
const differences = (sql: Sql, from: Fragment, to: Fragment, prefix = sql`''`) => sql`(
  select jsonb_object_agg(${prefix} || key, jsonb_build_object('from', ${from}->key, 'to', ${to}->key)) from jsonb_object_keys(${from} || ${to}) as key
  where ${from}->key is distinct from ${to}->key)`;

type Whole = "assignment.created" | "assignment.deleted";

/** Part of a writing statement: an audit event with all facts for each assignment of `rows`; `more` adds names and values. */
export const auditAssignments = (sql: Sql, scope: Scope, action: Whole, rows: Fragment, more = sql`'{}'::jsonb`) =>
  audit(sql, scope, action, sql`select id, ${more} || ${facts(sql, "written")} from ${rows} as written`);

/**
 * Part of a writing statement: an audit event with the old and new value of each changed fact and of each changed field of the config,
 * such as `config.reloadCommand`; the one row of `before` became that of `after`. `offset 0` keeps Postgres from building both again for each key.
 */
export function auditChange(sql: Sql, scope: Scope, before: Fragment, after: Fragment) {
  const changes = sql`
    select id, jsonb_build_object('changes', coalesce(${differences(sql, sql`old`, sql`new`)}, '{}')
      || case when old_config = new_config then '{}' else ${differences(sql, sql`old_config`, sql`new_config`, sql`'config.'`)} end)
    from (
      select after.id, ${facts(sql, "before")} - 'config' as old, ${facts(sql, "after")} - 'config' as new,
        before.config as old_config, after.config as new_config
      from ${before} as before cross join ${after} as after offset 0) as states`;
  return audit(sql, scope, "assignment.updated", changes);
}
