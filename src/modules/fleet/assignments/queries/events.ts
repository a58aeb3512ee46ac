import type { Fragment, Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { changes, type Field, pairs } from "./columns";

/** What decides what is installed on a host and which command runs there, of the assignment row `a`. The config names passwords, it never holds one. */
const facts = (sql: Sql, alias: string) => sql`jsonb_build_object('agentId', ${sql.text(alias)}.agent_id, ${pairs(sql, alias)})`;

type Whole = "assignment.created" | "assignment.removing" | "assignment.deleted";

/** Part of a writing statement: an audit event with all facts for each assignment of `rows`; `more` adds names and values, `write` is for how many. */
export const auditAssignments = (sql: Sql, scope: Scope, action: Whole, rows: Fragment, more = sql`'{}'::jsonb`, write = audit) =>
  write(sql, scope, action, sql`select id, ${more} || ${facts(sql, "written")} from ${rows} as written`);

/**
 * Part of a writing statement: an audit event with the old and new value of each changed fact and of each changed field of the config,
 * such as `config.reloadCommand`; the one row of `before` became that of `after`.
 */
export const auditChange = (sql: Sql, scope: Scope, before: Fragment, after: Fragment, kept: readonly Field[]) =>
  audit(
    sql,
    scope,
    "assignment.updated",
    sql`
    select after.id, jsonb_build_object('changes', jsonb_strip_nulls(jsonb_build_object(${changes(sql, "before", "after", kept)}))
      || case when before.config = after.config then '{}' else config_changes(before.config, after.config) end)
    from ${before} as before cross join ${after} as after`,
  );
