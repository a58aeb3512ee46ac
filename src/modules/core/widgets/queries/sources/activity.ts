import type { Sql } from "#db/connect";
import { CONNECTORS } from "#modules/core/connectors/rules/kinds";
import { type Ask, json, type WidgetData } from "../../rules/settings";

const MAX_CONNECTIONS = 200;

type Feed = { limit: number; unreadOnly: boolean; kinds?: string[] };

/** The newest notices of the user who asks; a gateway that speaks for no user has none. */
export async function notificationFeed(sql: Sql, { userId }: Ask, { limit, unreadOnly, kinds = [] }: Feed) {
  if (userId === undefined) return JSON.stringify({ items: [] });
  const [row] = await sql<WidgetData[]>`
    select json_build_object('items', coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'title', title,
      'createdAt', iso(created_at), 'readAt', iso(read_at)) order by position desc), '[]'))::text as data
    from (
      select id, kind, title, created_at, position, coalesce(read_at, case when position <= box.read_up_to then box.read_up_to_at end) as read_at
      from inboxes box join notices using (user_id)
      where user_id = ${userId} ${unreadOnly ? sql`and read_at is null and position > box.read_up_to` : sql``}
        ${kinds.length > 0 ? sql`and kind = any(array(select jsonb_array_elements_text(${json(kinds)}::jsonb)))` : sql``}
      order by position desc limit ${limit}) newest`;
  return row?.data;
}

/** Each connection with what its last test found. */
export async function connectorHealth(sql: Sql, { organizationId }: Ask, { categories = [], onlyFailing }: { categories?: string[]; onlyFailing: boolean }) {
  const kinds = CONNECTORS.filter((each) => categories.length === 0 || categories.includes(each.category)).map((each) => each.key);
  const [row] = await sql<WidgetData[]>`
    select json_build_object('items', coalesce(json_agg(json_build_object('id', id, 'connectorKey', kind, 'name', name,
      'status', coalesce(test_outcome, 'untested'), 'lastVerifiedAt', iso(tested_at),
      'lastError', case when test_outcome = 'failed' then test_message end) order by name), '[]'))::text as data
    from (
      select * from connections where organization_id = ${organizationId} and kind = any(array(select jsonb_array_elements_text(${json(kinds)}::jsonb)))
        ${onlyFailing ? sql`and test_outcome = 'failed'` : sql``}
      order by name limit ${MAX_CONNECTIONS}) named`;
  return row?.data;
}
