import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { holdingClaim } from "#db/idempotency-claim";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";

/** A notice, as every answer shows it. */
export const noticeJson = (sql: Sql, readAt: Fragment, more = sql``) => sql`json_build_object('id', id, 'kind', kind, 'title', title, 'message', message,
  'organizationId', organization_id, 'data', data, 'link', link, 'state', state, 'example', example, 'readAt', iso(${readAt}), 'createdAt', iso(created_at)${more})`;

type Example = { json: string } | { retryAfter: number };

/** At most `limit` examples in any minute: the row of the inbox remembers when the last ones were made. */
export async function addExample(
  sql: Sql,
  userId: string,
  { kind, title, message }: { kind: NoticeKind; title: string; message: string },
  limit: number,
): Promise<Example> {
  const [row] = await sql<{ json: string | null; retryAfter: number | null }[]>`
    with numbered as (
      insert into inboxes (user_id, total, unread, recent_examples) values (${userId}, 1, 1, array[clock_timestamp()])
      on conflict (user_id) do update set total = inboxes.total + 1, unread = inboxes.unread + 1,
        recent_examples = (inboxes.recent_examples || clock_timestamp()::timestamptz(3))[greatest(1, cardinality(inboxes.recent_examples) + 2 - ${limit}):]
      where cardinality(inboxes.recent_examples) < ${limit} or inboxes.recent_examples[1] <= clock_timestamp() - interval '1 minute'
      returning user_id, total),
    added as (
      insert into notices (user_id, position, id, kind, title, message, example)
      select user_id, total, new_id(), ${kind}, ${holdingClaim(sql, sql`${title}::text`)}, ${message}, true from numbered returning *)
    select (select ${noticeJson(sql, sql`read_at`)}::text from added) as json,
      (select ceil(60 - extract(epoch from clock_timestamp() - recent_examples[1]))::int from inboxes where user_id = ${userId}) as "retryAfter"`;
  return row?.json ? { json: row.json } : { retryAfter: Math.max(1, row?.retryAfter ?? 1) };
}

type Page = { page: number; limit: number; unread: boolean };

/**
 * Lists one page, the newest first, with its exact totals: positions have no gap, so that a page is found by a range of them, which needs
 * no plan of its own.
 */
export async function readInbox(sql: Sql, userId: string, { page, limit, unread }: Page) {
  const [row] = await sql<{ answer: string }[]>`
    select json_build_object('items', coalesce((
        select json_agg(${noticeJson(sql, sql`coalesce(read_at, case when position <= box.read_up_to then box.read_up_to_at end)`)} order by position desc)
        from ${unread ? unreadPage(sql, userId, page, limit) : wholePage(sql, userId, page, limit)}), '[]'::json),
      'page', ${page}::bigint, 'limit', ${limit}::int, 'total', ${unread ? sql`box.unread` : sql`box.total`}, 'unread', box.unread)::text as answer
    from (
      select coalesce(total, 0) as total, coalesce(unread, 0) as unread, coalesce(read_up_to, 0) as read_up_to, read_up_to_at
      from (select) one left join inboxes on user_id = ${userId}) box`;
  return row?.answer ?? "";
}

/** A range of positions, because with a LIMIT that the planner sees only in the parameters it plans every call again. */
const wholePage = (sql: Sql, userId: string, page: number, limit: number) => sql`notices where user_id = ${userId}
  and position <= box.total - ${page}::bigint * ${limit} and position > box.total - (${page}::bigint + 1) * ${limit}`;

/** Positions that `inbox_reads` counts together. */
const BLOCK = 1_000;

/**
 * Passes whole blocks by what is unread in them, newest first: a page far down costs what the first does; a limit from a
 * subquery keeps one plan.
 */
const unreadPage = (sql: Sql, userId: string, page: number, limit: number) => sql`(
  select notices.* from (
    select block, ${page}::bigint * ${limit} - unread_above as skipped from (
      select block, coalesce(sum(unread) over (order by block desc rows between unbounded preceding and 1 preceding), 0) as unread_above from (
        select block, least(box.total, (block + 1) * ${BLOCK}) - greatest(box.read_up_to, block * ${BLOCK}) - coalesce(count, 0) as unread
        from generate_series(box.read_up_to / ${BLOCK}, (box.total - 1) / ${BLOCK}) as block
        left join (select * from inbox_reads where user_id = ${userId}) as reads using (block)) as blocks) as above
    where unread_above <= (select ${page}::bigint * ${limit}) order by block limit 1) as start
  cross join lateral (
    select * from notices where user_id = ${userId} and read_at is null and position > box.read_up_to and position <= (block + 1) * ${BLOCK}
    order by position desc offset skipped limit (select ${limit}::int)) as notices) shown`;

/** Counts the read notices of all inboxes again, in a transaction for whose end all writes of notices wait. */
export async function recountReads(sql: Sql) {
  await sql`lock table notices in share mode`;
  await sql`delete from inbox_reads`;
  await sql`insert into inbox_reads select user_id, (position - 1) / ${BLOCK}::int, count(*) from notices where read_at is not null group by 1, 2`;
}

/** Marks some notices as read, and returns how many were unread before, and how many still are. */
export async function markRead(sql: Sql, userId: string, ids: string[]) {
  const [row] = await sql<{ marked: number; unread: number }[]>`
    with box as (select user_id, read_up_to from inboxes where user_id = ${userId} for update),
    found as materialized (
      select notices.user_id, position from box join notices using (user_id)
      where id = any(${arrayOf(ids)}::uuid[]) and read_at is null and position > box.read_up_to order by position for no key update of notices),
    marked as (
      update notices set read_at = now() from found where notices.user_id = found.user_id and notices.position = found.position returning 1),
    counted as (
      update inboxes set unread = inboxes.unread - (select count(*) from marked) from box where inboxes.user_id = box.user_id returning inboxes.unread)
    select (select count(*)::int from marked) as marked, coalesce((select unread from counted), 0) as unread`;
  return row ?? { marked: 0, unread: 0 };
}

/** Marks everything as read without touching a single notice. */
export async function markAllRead(sql: Sql, userId: string) {
  const [row] = await sql<{ marked: number }[]>`
    with before as (select user_id, unread from inboxes where user_id = ${userId} for update)
    update inboxes set read_up_to = total, read_up_to_at = now(), unread = 0 from before where inboxes.user_id = before.user_id
    returning before.unread as marked`;
  return { marked: row?.marked ?? 0, unread: 0 };
}

/** The newest position of each inbox, and how many of its notices are unread. */
export async function inboxPositions(sql: Sql, userIds: string[]) {
  return sql<{ userId: string; total: number; unread: number }[]>`
    select user_id as "userId", total, unread from inboxes where user_id = any(${arrayOf(userIds)}::uuid[])`;
}

/** The last position of an inbox that a reader has seen. */
export type InboxPosition = { userId: string; position: number };

/** Returns the notices after each position, oldest first, a hundred at most: the notice, and how many of the inbox are unread. */
export async function noticesAfter(sql: Sql, positions: InboxPosition[]) {
  return sql<{ userId: string; after: number; position: number; json: string }[]>`
    select place."userId", place.position as after, notice.position, notice.json
    from jsonb_to_recordset(${JSON.stringify(positions)}::text::jsonb) as place ("userId" uuid, position int)
    join inboxes as box on box.user_id = place."userId"
    cross join lateral (
      select position, ${noticeJson(sql, sql`coalesce(read_at, case when position <= box.read_up_to then box.read_up_to_at end)`, sql`, 'unread', box.unread`)}::text as json
      from notices where user_id = place."userId" and position > place.position order by position limit 100) as notice`;
}

/**
 * Takes the notices of an organization out of the inbox of a user, but for the places that they have there. Part of the statement that ends
 * the membership.
 */
export const withdrawNotices = (sql: Sql, left: Fragment) => sql`
  update notices set title = 'You are not a member any more', message = 'This was about an organization that you have left.', data = '{}', link = null, state = null
  from (
    select notices.user_id, position from (${left}) as gone (organization_id, user_id) join notices using (organization_id, user_id)
    order by notices.user_id, position for no key update of notices) as locked
  where notices.user_id = locked.user_id and notices.position = locked.position`;
