import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { holdingClaim } from "#db/idempotency-claim";
import { NOTICE_KINDS, type NoticeKind } from "./rules";

export type NewNotice = {
  kind: NoticeKind;
  title: string;
  message: string;
  organizationId?: string | null;
  data?: Record<string, unknown>;
  link?: string | null;
  example?: boolean;
};

const noticeJson = (sql: Sql, readAt: Fragment) => sql`json_build_object('id', id, 'kind', kind, 'title', title, 'message', message,
  'organizationId', organization_id, 'data', data, 'link', link, 'example', example, 'readAt', iso(${readAt}), 'createdAt', iso(created_at))`;

/** Part of a writing statement: a notice for each row of `recipients`, which yields a user_id. */
const insertNotices = (
  sql: Sql,
  { kind, title, message, organizationId = null, data = {}, link = null, example = false }: NewNotice,
  recipients: Fragment,
) => sql`
  insert into notices (user_id, position, id, organization_id, kind, title, message, data, link, example)
  select user_id, total, new_id(), ${organizationId}::uuid, ${kind}, ${holdingClaim(sql, sql`${title}::text`)}, ${message}, ${JSON.stringify(data)}::jsonb, ${link}, ${example} from (${recipients}) as recipient`;

/** One active member of an organization, or all of a role: an ORG_ADMIN is an ORG_MEMBER too. */
type Recipients = { userId: string } | { role: "ORG_ADMIN" | "ORG_MEMBER" };

/** Puts a notice into the inboxes of members of an organization; in the transaction that `sql` is. */
export async function addNotice(sql: Sql, notice: NewNotice & { organizationId: string }, to: Recipients) {
  const isRecipient = "userId" in to ? sql`user_id = ${to.userId}` : sql`(role = 'ORG_ADMIN' or ${to.role} = 'ORG_MEMBER')`;
  await sql`
    with numbered as (
      insert into inboxes (user_id, total, unread)
      select user_id, 1, 1 from members where organization_id = ${notice.organizationId} and status = 'active' and ${isRecipient}
      order by user_id
      on conflict (user_id) do update set total = inboxes.total + 1, unread = inboxes.unread + 1
      returning user_id, total)
    ${insertNotices(sql, notice, sql`select user_id, total from numbered`)}`;
}

type Example = { json: string } | { retryAfter: number };

/** At most `limit` examples in any minute: the row of the inbox remembers when the last ones were made. */
export async function addExample(
  sql: Sql,
  userId: string,
  notice: { kind: NoticeKind; title?: string | undefined; message?: string | undefined },
  limit: number,
): Promise<Example> {
  const words = NOTICE_KINDS[notice.kind];
  const [row] = await sql<{ json: string | null; retryAfter: number | null }[]>`
    with numbered as (
      insert into inboxes (user_id, total, unread, recent_examples) values (${userId}, 1, 1, array[clock_timestamp()])
      on conflict (user_id) do update set total = inboxes.total + 1, unread = inboxes.unread + 1,
        recent_examples = (inboxes.recent_examples || clock_timestamp()::timestamptz(3))[greatest(1, cardinality(inboxes.recent_examples) + 2 - ${limit}):]
      where cardinality(inboxes.recent_examples) < ${limit} or inboxes.recent_examples[1] <= clock_timestamp() - interval '1 minute'
      returning user_id, total),
    added as (${insertNotices(sql, { ...notice, title: notice.title ?? words.title, message: notice.message ?? words.message, example: true }, sql`select user_id, total from numbered`)} returning *)
    select (select ${noticeJson(sql, sql`read_at`)}::text from added) as json,
      (select ceil(60 - extract(epoch from clock_timestamp() - recent_examples[1]))::int from inboxes where user_id = ${userId}) as "retryAfter"`;
  return row?.json ? { json: row.json } : { retryAfter: Math.max(1, row?.retryAfter ?? 1) };
}

type Page = { page: number; limit: number; unread: boolean };

/**
 * One page, newest first, with its exact totals: positions have no gap, so a page is found by its number, not by counting.
 * A LIMIT that the planner can see only in the parameters would make it plan every call, hence a range.
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

const wholePage = (sql: Sql, userId: string, page: number, limit: number) => sql`notices where user_id = ${userId}
  and position <= box.total - ${page}::bigint * ${limit} and position > box.total - (${page}::bigint + 1) * ${limit}`;

/** Positions that `inbox_reads` counts together. */
const BLOCK = 1_000;

/**
 * Passes whole blocks by what is unread in them, newest first, so that a page far down costs what the first one does. A limit from a
 * subquery keeps one plan for all calls.
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

/** Counts the read notices of all inboxes again, in a transaction. Reads of notices wait for its end. */
export async function recountReads(sql: Sql) {
  await sql`lock table notices in share mode`;
  await sql`delete from inbox_reads`;
  await sql`insert into inbox_reads select user_id, (position - 1) / ${BLOCK}::int, count(*) from notices where read_at is not null group by 1, 2`;
}

/** Marks some notices as read. Returns how many were unread before, and how many still are. */
export async function markRead(sql: Sql, userId: string, ids: string[]) {
  const [row] = await sql<{ marked: number; unread: number }[]>`
    with box as (select user_id, read_up_to from inboxes where user_id = ${userId} for update),
    marked as (
      update notices set read_at = now() from box
      where notices.user_id = box.user_id and id = any(${arrayOf(ids)}::uuid[]) and read_at is null and position > box.read_up_to returning 1),
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

export type Arrival = { userId: string; position: number; json: string };

/** The newest position of each inbox. */
export async function inboxPositions(sql: Sql, userIds: string[]) {
  return sql<{ userId: string; total: number }[]>`select user_id as "userId", total from inboxes where user_id = any(${arrayOf(userIds)}::uuid[])`;
}

/** What came after a position, oldest first, a hundred at most. */
export async function noticesAfter(sql: Sql, userId: string, position: number) {
  return sql<Arrival[]>`
    select user_id as "userId", position, ${noticeJson(sql, sql`read_at`)}::text as json
    from notices where user_id = ${userId} and position > ${position} order by position limit 100`;
}
