import type { Fragment, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { notify } from "#modules/notifications/events/queries/notify";
import { conditionOf } from "#modules/notifications/events/rules/kinds";
import { DEFAULT_POLICY, EXPIRED, type Judgement, type Threshold } from "../rules";

/** Puts the next certificates of an organization that is to be reviewed on the watch, due now. Returns false when there is no such organization. */
export async function reviewSome(sql: Sql, count: number, now: Date) {
  const [row] = await sql`
    with review as (select organization_id, reviewed_up_to from expiry_reviews order by organization_id limit 1 for update skip locked),
    part as materialized (
      select c.organization_id, c.id, c.facts, c.subject, c.not_after from review, certificates c
      where c.organization_id = review.organization_id and c.id > review.reviewed_up_to order by c.id limit ${count}),
    watched as (
      insert into expiry_watch (organization_id, certificate_id, due_at, names_hash, not_after)
      select organization_id, id, ${now.toISOString()}, names_hash(facts, subject), not_after from part
      on conflict (organization_id, certificate_id) do update set due_at = excluded.due_at),
    moved as (
      update expiry_reviews r set reviewed_up_to = (select id from part order by id desc limit 1) from review
      where r.organization_id = review.organization_id and exists (select from part)),
    ended as (delete from expiry_reviews r using review where r.organization_id = review.organization_id and not exists (select from part))
    select 1 from review`;
  return row !== undefined;
}

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
  /** Something was told of it, and not that it has ended or is renewed. */
  isStanding: boolean;
  thresholds: Threshold[];
};

/** True of a row `w` of the watch where an active certificate of the same names ends later. */
export const isOutlived = (sql: Sql, at: string) => sql`
  exists (
    select from expiry_watch o join certificates renewal on renewal.organization_id = o.organization_id and renewal.id = o.certificate_id
    where o.organization_id = w.organization_id and o.names_hash = w.names_hash and o.not_after > w.not_after
      and renewal.status = 'active' and renewal.not_before <= ${at})`;

/** True of a row `of` of the watch where an issuer renews the certificate, and `more` is true of the renewal. */
const isLookedAfter = (sql: Sql, of: Fragment, more: Fragment) => sql`
  exists (
    select from renewals n where n.organization_id = ${of}.organization_id and n.certificate_id = ${of}.certificate_id
      and n.state in ('scheduled', 'ordered', 'failed', 'issued') ${more} offset 0)`;

/** Takes the certificates that were due first, in a transaction; servers share them. */
export async function takeDue(tx: Sql, count: number, now: Date): Promise<Due[]> {
  const at = now.toISOString();
  const rows = await tx<(Omit<Due, "notBefore" | "notAfter"> & { notBefore: string; notAfter: string })[]>`
    with due as materialized (
      select w.* from expiry_watch w where w.due_at <= ${at} and not exists (select from expiry_reviews r where r.organization_id = w.organization_id)
      order by w.due_at limit ${count} for update skip locked)
    select w.organization_id as "organizationId", w.certificate_id as "certificateId", iso(c.not_before) as "notBefore", iso(c.not_after) as "notAfter",
      (select user_id from members m where m.organization_id = w.organization_id and m.user_id = c.owner_id and m.status = 'active') as "ownerId",
      c.status = 'active' as "isActive",
      ${isOutlived(tx, at)} or coalesce(rotation = 'completed', false) as "isRenewed",
      coalesce(rotation = 'running', false) or ${isLookedAfter(tx, tx`w`, tx`and late_since is null`)} as "isUnderWay",
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

/**
 * Keeps what was judged: when each certificate is due next, and what is to be told. Of several thresholds that were reached, only the most
 * urgent is told; to the role too, where the owner was told of an earlier one and the state is open still.
 */
export async function keepJudgements(tx: Sql, judged: Judged[], now: Date) {
  await tx`
    with judged as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(judged)}::text::jsonb)
        as given ("organizationId" uuid, "certificateId" uuid, "ownerId" uuid, "isStanding" boolean, "dueAt" timestamptz, crossed int[])),
    moved as (
      update expiry_watch w set due_at = judged."dueAt", is_standing = judged."isStanding" from judged
      where w.organization_id = judged."organizationId" and w.certificate_id = judged."certificateId"),
    reached as materialized (select * from judged cross join unnest(crossed) with ordinality as threshold (days, place)),
    escalated as (
      select "organizationId", "certificateId", days from reached cross join lateral (
        select coalesce(bool_or(t.days = reached.days), true) as is_known from expiry_tellings t
        where t.organization_id = "organizationId" and t.certificate_id = "certificateId" and t.addressee = "ownerId") as earlier
      where place = 1 and "ownerId" is not null and not is_known and exists (
        select from alerts a
        where a.organization_id = "organizationId" and a.condition = ${conditionOf("certificate_expiring") ?? ""} and a.subject_id = "certificateId" and a.state = 'open'))
    insert into expiry_tellings (organization_id, certificate_id, addressee, days, told_at)
    select "organizationId", "certificateId", coalesce("ownerId", ${MIN_UUID}), days, case when place > 1 then ${now.toISOString()}::timestamptz end from reached
    union all select "organizationId", "certificateId", ${MIN_UUID}, days, null from escalated
    order by 1, 2, 3, 4
    on conflict do nothing`;
}

export const listUntold = (sql: Sql) => sql<{ organizationId: string }[]>`
  with recursive organization as (
    (select organization_id from expiry_tellings where told_at is null order by organization_id limit 1)
    union all
    select next.organization_id from organization cross join lateral (
      select organization_id from expiry_tellings where told_at is null and organization_id > organization.organization_id order by organization_id limit 1) as next)
  select organization_id as "organizationId" from organization`;

/** Makes events of what an organization is to be told: of each owner, the role that stands for one, or both in one event. */
export async function announce(tx: Sql, organizationId: string, now: Date) {
  const events = (isOfKind: Fragment) => tx`
    select ${organizationId}::uuid, id, jsonb_build_object('commonName', common_name, 'notAfter', iso(not_after), 'days', days,
      'hasIssuer', ${isLookedAfter(tx, tx`hearing`, tx``)}),
      user_id, case when place = 1 and is_for_role then coalesce(policy.role, ${DEFAULT_POLICY.role}) end
    from (select ${organizationId}::uuid as organization_id, * from hearers) as hearing join certificates c on c.organization_id = ${organizationId} and c.id = hearing.certificate_id
      left join expiry_policies as policy on policy.organization_id = ${organizationId}
    where (place = 1 or user_id is not null) and ${isOfKind}`;
  await tx`
    with told as (
      update expiry_tellings set told_at = ${now.toISOString()} where organization_id = ${organizationId} and told_at is null returning certificate_id, addressee, days),
    -- owners before the role
    hearers as (
      select certificate_id, days, nullif(addressee, ${MIN_UUID}) as user_id, bool_or(addressee = ${MIN_UUID}) over same as is_for_role,
        row_number() over (same order by addressee desc) as place
      from told window same as (partition by certificate_id, days)),
    expired as (${notify(tx, "certificate_expired", events(tx`days = ${EXPIRED}`))})
    ${notify(tx, "certificate_expiring", events(tx`days <> ${EXPIRED}`))}`;
}
