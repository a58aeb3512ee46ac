import type { Sql } from "#db/connect";
import { kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { Addressed } from "#modules/notifications/events/rules/notification";
import { DEFAULT_PREFERENCES } from "#modules/notifications/preferences/rules/preferences";

/** A member who gets a notice by mail, which is of no use any more from `expiresAt` on. */
export type Recipient = Addressed & {
  frequency: "at_once" | "daily";
  address: string;
  name: string;
  organization: string;
  timeZone: string;
  digestHour: number;
  expiresAt: string;
};

/**
 * Returns those of the addressed who get mail of the kind. It goes to the last address that a token said was verified, else to the one that
 * was invited.
 */
export const listRecipients = (tx: Sql, organizationId: string, kind: NoticeKind, addressed: readonly Addressed[]) => tx<Recipient[]>`
  select a."notificationId", a."userId", a."noticeId", frequency, coalesce(u.verified_email, m.email) as address,
    coalesce(u.full_name, u.display_name, '') as name, o.name as organization, coalesce(p.time_zone, ${DEFAULT_PREFERENCES.timeZone}) as "timeZone",
    coalesce(p.digest_hour, ${DEFAULT_PREFERENCES.digestHour}) as "digestHour", iso(now() + interval '1 day') as "expiresAt"
  from jsonb_to_recordset(${JSON.stringify(addressed)}::text::jsonb) as a ("notificationId" uuid, "userId" uuid, "noticeId" uuid)
  join users u on u.id = a."userId"
  join members m on m.organization_id = ${organizationId} and m.user_id = a."userId"
  join organizations o on o.id = m.organization_id
  left join notification_preferences p on p.user_id = a."userId"
  cross join lateral (select coalesce(p.mail->>${kind}::text, ${kindOf(kind).mail}) as frequency) as chosen
  where frequency <> 'off' order by a."userId", a."noticeId"`;

/** Returns whether the user is still a member, and wants mail of this kind. */
export async function wantsNoticeMail(sql: Sql, organizationId: string, userId: string, kind: NoticeKind) {
  const [row] = await sql<{ isWanted: boolean }[]>`
    select coalesce((select mail->>${kind}::text from notification_preferences where user_id = ${userId}), ${kindOf(kind).mail}) <> 'off'
      and exists (select from members where organization_id = ${organizationId} and user_id = ${userId} and status = 'active') as "isWanted"`;
  return row?.isWanted ?? false;
}
