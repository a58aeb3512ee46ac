import type { Fragment, Sql } from "#db/connect";
import type { CompiledRing } from "../rules";

/**
 * The rows of `items`, each as one `item`, and the `ring` of each: the first that finds the agent by its labels and takes it. Of the
 * agents that a ring finds it takes its share, rounded up, the oldest first. An item has an agent_id and labels.
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
