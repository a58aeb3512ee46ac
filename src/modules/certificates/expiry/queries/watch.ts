import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { MAX_UUID, MIN_UUID } from "#db/ids";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { conditionOf } from "#modules/notifications/events/rules/kinds";
import { DEFAULT_POLICY, EXPIRED, type Judgement, type Threshold } from "../rules";

/**
 * Puts the next certificates of an organization under review on the watch, due now; its review stands until `endReviews`.
 * Returns false where all of them are there.
 */
export async function reviewSome(sql: Sql, count: number, now: Date) {
  const [row] = await sql`
    with review as (
      select organization_id, reviewed_up_to from expiry_reviews where reviewed_up_to < ${MAX_UUID} order by organization_id limit 1 for update skip locked),
    part as materialized (
      select c.organization_id, c.id, c.facts, c.subject, c.not_after from review, certificates c
      where c.organization_id = review.organization_id and c.id > review.reviewed_up_to order by c.id limit ${count}),
    watched as (
      insert into expiry_watch (organization_id, certificate_id, due_at, names_hash, not_after)
      select organization_id, id, ${now.toISOString()}, names_hash(facts, subject), not_after from part
      on conflict (organization_id, certificate_id) do update set due_at = excluded.due_at),
    moved as (
      update expiry_reviews r set reviewed_up_to = coalesce((select id from part order by id desc limit 1), ${MAX_UUID}) from review
      where r.organization_id = review.organization_id)
    select 1 from review`;
  return row !== undefined;
}

/** Has events of the organizations wait for `endReviews`: more of their certificates may be due than one transaction judges. */
export const awaitOthers = (tx: Sql, organizationIds: string[]) => tx`
  insert into expiry_reviews select distinct unnest(${arrayOf(organizationIds)}::uuid[]), ${MAX_UUID}::uuid order by 1 on conflict do nothing`;

/** Ends the reviews whose certificates are all judged: from then on events of their expiry are dispatched, together. */
export const endReviews = (sql: Sql) => sql`delete from expiry_reviews where reviewed_up_to = ${MAX_UUID}`;

/** Has the certificates judged once more whose events the release before has not recorded, nor will where it was killed in between. */
export const reviewUnrecorded = (sql: Sql, now: Date) => sql`
  with unrecorded as (delete from expiry_reminders where recorded_at is null returning organization_id, certificate_id)
  update expiry_watch w set due_at = ${now.toISOString()} from unrecorded u where w.organization_id = u.organization_id and w.certificate_id = u.certificate_id`;

/** A certificate whose time has come. A renewal that is under way is planned and not late, or has not reached every host yet. */
export type Due = {
  organizationId: string;
  certificateId: string;
  notBefore: Date;
  notAfter: Date;
  /** Null where none is named, or who was is no active member. */
  ownerId: string | null;
  isActive: boolean;
  isRenewed: boolean;
  isUnderWay: boolean;
  /** An event of its expiry was recorded, and none that it has ended or is renewed. */
  isStanding: boolean;
  thresholds: Threshold[];
};

/** True of a row `w` of the watch where an active certificate of the same names ends later. */
export const isOutlived = (sql: Sql, at: string) => sql`
  exists (
    select from expiry_watch o join certificates renewal on renewal.organization_id = o.organization_id and renewal.id = o.certificate_id
    where o.organization_id = w.organization_id and o.names_hash = w.names_hash and o.not_after > w.not_after
      and renewal.status = 'active' and renewal.not_before <= ${at})`;

/** True of a row `of` where an issuer renews its certificate, and `more` is true of the renewal. */
const hasIssuer = (sql: Sql, of: Fragment, more: Fragment) => sql`
  exists (
    select from renewals n where n.organization_id = ${of}.organization_id and n.certificate_id = ${of}.certificate_id
      and n.state in ('scheduled', 'ordered', 'failed', 'issued') ${more} offset 0)`;

/** Takes the certificates that were due first, in a transaction; servers share them. */
export async function takeDue(tx: Sql, count: number, now: Date): Promise<Due[]> {
  const at = now.toISOString();
  const rows = await tx<(Omit<Due, "notBefore" | "notAfter"> & { notBefore: string; notAfter: string })[]>`
    with due as materialized (
      select w.* from expiry_watch w where w.due_at <= ${at}
        and not exists (select from expiry_reviews r where r.organization_id = w.organization_id and r.reviewed_up_to < ${MAX_UUID})
      order by w.due_at limit ${count} for update skip locked)
    select w.organization_id as "organizationId", w.certificate_id as "certificateId", iso(c.not_before) as "notBefore", iso(c.not_after) as "notAfter",
      (select user_id from members m where m.organization_id = w.organization_id and m.user_id = c.owner_id and m.status = 'active') as "ownerId",
      c.status = 'active' as "isActive",
      ${isOutlived(tx, at)} or coalesce(rotation = 'completed', false) as "isRenewed",
      coalesce(rotation = 'running', false) or ${hasIssuer(tx, tx`w`, tx`and late_since is null`)} as "isUnderWay",
      w.is_standing as "isStanding",
      coalesce((
        select override -> 'thresholds' from jsonb_array_elements(p.overrides) with ordinality as o (override, place)
        where (override ->> 'issuer' is null or override ->> 'issuer' = c.issuer) and (override ->> 'path' is null or c.labels @@ (override ->> 'path')::jsonpath)
        order by place limit 1), p.thresholds, ${JSON.stringify(DEFAULT_POLICY.thresholds)}::jsonb)::text as thresholds
    from due w
    cross join lateral (select * from certificates c where c.organization_id = w.organization_id and c.id = w.certificate_id offset 0) as c
    left join expiry_policies p on p.organization_id = w.organization_id
    left join lateral (
      select status as rotation from rollouts r
      where r.organization_id = w.organization_id and r.predecessor_id = w.certificate_id and r.status in ('running', 'completed') limit 1) as r on true`;
  return rows.map((row) => ({
    ...row,
    notBefore: new Date(row.notBefore),
    notAfter: new Date(row.notAfter),
    thresholds: JSON.parse(row.thresholds as unknown as string),
  }));
}

export type Judged = Pick<Due, "organizationId" | "certificateId" | "ownerId" | "isStanding"> & Judgement;

/** A certificate and the threshold of which an event is to be recorded: for its owner, for the role that stands for one, or for both. */
export type Reminder = { organizationId: string; certificateId: string; days: number; ownerId: string | null; isForRole: boolean };

/**
 * Saves when each certificate is due next, and its reminders. Returns those of which an event is to be recorded: the most urgent; for the
 * role too where the owner ignored an earlier one.
 */
export const saveJudgements = (tx: Sql, judged: Judged[], now: Date) => tx<Reminder[]>`
  with judged as materialized (
    select * from jsonb_to_recordset(${JSON.stringify(judged)}::text::jsonb)
      as given ("organizationId" uuid, "certificateId" uuid, "ownerId" uuid, "isStanding" boolean, "dueAt" timestamptz, crossed int[])),
  moved as (
    update expiry_watch w set due_at = judged."dueAt", is_standing = judged."isStanding" from judged
    where w.organization_id = judged."organizationId" and w.certificate_id = judged."certificateId"),
  escalated as (
    select "organizationId", "certificateId", crossed[1] as days from judged cross join lateral (
      select coalesce(bool_or(r.days = crossed[1]), true) as is_known from expiry_reminders r
      where r.organization_id = "organizationId" and r.certificate_id = "certificateId" and r.addressee = "ownerId") as earlier
    where cardinality(crossed) > 0 and "ownerId" is not null and not is_known and exists (
      select from alerts a
      where a.organization_id = "organizationId" and a.condition = ${conditionOf("certificate_expiring") ?? ""} and a.subject_id = "certificateId" and a.state = 'open')),
  added as (
    insert into expiry_reminders (organization_id, certificate_id, addressee, days, recorded_at)
    select *, ${now.toISOString()}::timestamptz from (
      select "organizationId", "certificateId", coalesce("ownerId", ${MIN_UUID}), unnest(crossed) as days from judged
      union all select "organizationId", "certificateId", ${MIN_UUID}, days from escalated) as reached
    order by 1, 2, 3, 4
    on conflict do nothing returning *)
  select "organizationId", "certificateId", days, "ownerId", bool_or(addressee = ${MIN_UUID}) as "isForRole"
  from judged join added on organization_id = "organizationId" and certificate_id = "certificateId" and days = crossed[1]
  group by "organizationId", "certificateId", days, "ownerId"`;

/** Records an event of each reminder, in the transaction that saves the reminders. */
export async function recordExpiryEvents(tx: Sql, reminders: Reminder[]) {
  const events = (isOfKind: Fragment) => tx`
    select reminder.organization_id, c.id, jsonb_build_object('commonName', common_name, 'notAfter', iso(not_after), 'days', days,
      'hasIssuer', ${hasIssuer(tx, tx`reminder`, tx``)}),
      "ownerId", case when "isForRole" then coalesce(policy.role, ${DEFAULT_POLICY.role}) end
    from reminder join certificates c on c.organization_id = reminder.organization_id and c.id = reminder.certificate_id
      left join expiry_policies as policy on policy.organization_id = reminder.organization_id
    where ${isOfKind}`;
  await tx`
    with reminder as materialized (
      select "organizationId" as organization_id, "certificateId" as certificate_id, days, "ownerId", "isForRole"
      from jsonb_to_recordset(${JSON.stringify(reminders)}::text::jsonb)
        as given ("organizationId" uuid, "certificateId" uuid, days int, "ownerId" uuid, "isForRole" boolean)),
    expired as (${recordEvents(tx, "certificate_expired", events(tx`days = ${EXPIRED}`))})
    ${recordEvents(tx, "certificate_expiring", events(tx`days <> ${EXPIRED}`))}`;
}
