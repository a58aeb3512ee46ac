import type { Fragment, Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { pairs } from "./columns";

/**
 * The facts of the assignment row `a` that decide what is installed on a host and which command runs there. The config names
 * passwords, it never holds one.
 */
const facts = (sql: Sql, alias: string) => sql`jsonb_build_object('agentId', ${sql.text(alias)}.agent_id, ${pairs(sql, alias)})`;

type Whole = "assignment.created" | "assignment.removing" | "assignment.deleted";

/**
 * Part of a writing statement: an audit event with all facts for each assignment of `rows`; `more` adds names and values,
 * `write` is for how many.
 */
export const auditAssignments = (sql: Sql, scope: Scope, action: Whole, rows: Fragment, more = sql`'{}'::jsonb`, write = audit) =>
  write(sql, scope, action, sql`select id, ${more} || ${facts(sql, "written")} from ${rows} as written`);
