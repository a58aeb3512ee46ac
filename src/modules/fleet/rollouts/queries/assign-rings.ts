import type { Fragment, Sql } from "#db/connect";
import type { CompiledRing } from "../rules";

/**
 * Returns `items` (with agent_id and labels) with the `ring` of each: the first that selects the agent and has room. A ring
 * takes its share of the selected agents, rounded up, the oldest first.
 */
export const assignRings = (sql: Sql, items: Fragment, rings: CompiledRing[]): Fragment =>
  rings.reduce(
    (assigned, { path, share }, index) => sql`
    select agent_id, labels, item,
      coalesce(ring, case when finds and place <= ceil(${share}::numeric * max(place) over (partition by finds)) then ${index + 1}::int end) as ring
    from (
      select *, dense_rank() over (partition by finds order by agent_id) as place from (
        select *, ring is null ${path === undefined ? sql`` : sql`and labels @@ ${path}::jsonpath`} as finds from (${assigned}) as assigned) as judged) as placed`,
    sql`select agent_id, labels, item, null::int as ring from ${items} as item`,
  );
