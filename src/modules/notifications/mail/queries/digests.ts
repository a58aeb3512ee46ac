import { arrayOf, type Sql } from "#db/connect";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";

type DueNotice = { userId: string; noticeId: string; dueAt: Date };

/** Keeps notices for the next digest of their users, which comes at `dueAt` unless one is due already. */
export async function keepForDigest(tx: Sql, waiting: readonly DueNotice[]) {
  await tx`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(waiting)}::text::jsonb) as n ("userId" uuid, "noticeId" uuid, "dueAt" timestamptz)),
    -- locks the digest, in the order in which every writer does: a turn that sends it comes before or after
    digest as (
      insert into digests (user_id, due_at) select distinct on ("userId") "userId", "dueAt" from given order by "userId"
      on conflict (user_id) do update set due_at = digests.due_at returning user_id)
    insert into digest_notices (user_id, notice_id) select user_id, "noticeId" from given join digest on user_id = "userId"`;
}

/** Takes users whose digest is due. Another server passes over them until the transaction ends. */
export async function takeDueDigests(tx: Sql, now: Date, limit: number) {
  const rows = await tx<{ userId: string }[]>`
    select user_id as "userId" from digests where due_at <= ${now.toISOString()} order by due_at limit ${limit} for update skip locked`;
  return rows.map(({ userId }) => userId);
}

export type WaitingNotice = {
  userId: string;
  noticeId: string;
  kind: NoticeKind;
  title: string;
  link: string | null;
  organization: string;
  address: string;
  name: string;
  expiresAt: string;
};

/**
 * Returns the newest notices that wait for the digests of these users, at most `limit` of each: unread, of organizations that the user is
 * still a member of, and of kinds whose mail is not off.
 */
export const listWaiting = (tx: Sql, userIds: readonly string[], limit: number) => tx<WaitingNotice[]>`
  select waiting.*, coalesce(u.full_name, u.display_name, '') as name, iso(now() + interval '1 day') as "expiresAt"
  from jsonb_array_elements_text(${JSON.stringify(userIds)}::text::jsonb) as asked join users u on u.id = asked::uuid
  cross join lateral (
    select d.user_id as "userId", d.notice_id as "noticeId", n.kind, n.title, n.link, o.name as organization, coalesce(u.verified_email, m.email) as address
    from digest_notices d
    join notices n on n.user_id = d.user_id and n.id = d.notice_id
    join inboxes box on box.user_id = d.user_id
    join members m on m.organization_id = n.organization_id and m.user_id = d.user_id and m.status = 'active'
    join organizations o on o.id = n.organization_id
    left join notification_preferences p on p.user_id = d.user_id
    where d.user_id = u.id and d.mail_id is null and n.read_at is null and n.position > box.read_up_to and (p.mail->>n.kind) is distinct from 'off'
    order by d.notice_id desc limit (select ${limit}::int)) as waiting
  order by "userId", "noticeId" desc`;

type DigestMail = { userId: string; mailId: string; noticeIds: string[] };

/** Ends these users' digests: what a mail lists is in it, and what none lists is dropped. */
export async function closeDigests(tx: Sql, userIds: readonly string[], mails: readonly DigestMail[]) {
  const users = arrayOf([...userIds]);
  await tx`
    with listed as materialized (
      select "userId", "mailId", unnest("noticeIds") as notice_id
      from jsonb_to_recordset(${JSON.stringify(mails)}::text::jsonb) as m ("userId" uuid, "mailId" uuid, "noticeIds" uuid[])),
    mailed as (
      update digest_notices d set mail_id = "mailId" from listed where d.user_id = "userId" and d.notice_id = listed.notice_id),
    dropped as (
      delete from digest_notices d where d.user_id = any(${users}::uuid[]) and d.mail_id is null
        and not exists (select from listed where "userId" = d.user_id and listed.notice_id = d.notice_id))
    delete from digests where user_id = any(${users}::uuid[])`;
}

/** Returns whether the user is still a member of every organization of which the mail lists notices. */
export async function isDigestWanted(sql: Sql, mailId: string) {
  const [row] = await sql<{ isWanted: boolean }[]>`
    select not exists (
      select from digest_notices d left join notices n on n.user_id = d.user_id and n.id = d.notice_id
      where d.mail_id = ${mailId} and not exists (
        select from members m where m.organization_id = n.organization_id and m.user_id = d.user_id and m.status = 'active')) as "isWanted"`;
  return row?.isWanted ?? false;
}

/** Forgets the notices that a mail listed. */
export const forgetDigest = (tx: Sql, mailId: string) => tx`delete from digest_notices where mail_id = ${mailId}`;

/** Keeps the notices of a mail that did not go out for the digest that comes at `dueAt`, or sooner. */
export async function restoreDigest(tx: Sql, userId: string, mailId: string, dueAt: Date) {
  await tx`
    with digest as (
      insert into digests (user_id, due_at) values (${userId}, ${dueAt.toISOString()})
      on conflict (user_id) do update set due_at = least(digests.due_at, excluded.due_at) returning user_id)
    update digest_notices d set mail_id = null from digest where d.user_id = digest.user_id and d.mail_id = ${mailId}`;
}
