import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { DEFAULT_POLICY, type ExpiryPolicy, type Judgement, type Telling, type Threshold } from "../rules";

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

/** A certificate whose time has come. A renewal that is under way has not reached every host yet. */
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
  thresholds: Threshold[];
};

/** Takes the certificates that were due first, in a transaction; servers share them. What is renewed has an active certificate of the same names that ends later. */
export async function takeDue(tx: Sql, count: number, now: Date): Promise<Due[]> {
  const at = now.toISOString();
  const rows = await tx<(Omit<Due, "notBefore" | "notAfter"> & { notBefore: string; notAfter: string })[]>`
    with due as materialized (
      select w.* from expiry_watch w where w.due_at <= ${at} and not exists (select from expiry_reviews r where r.organization_id = w.organization_id)
      order by w.due_at limit ${count} for update skip locked)
    select w.organization_id as "organizationId", w.certificate_id as "certificateId", iso(c.not_before) as "notBefore", iso(c.not_after) as "notAfter",
      (select user_id from members m where m.organization_id = w.organization_id and m.user_id = c.owner_id and m.status = 'active') as "ownerId",
      c.status = 'active' as "isActive",
      exists (
        select from expiry_watch o join certificates renewal on renewal.organization_id = o.organization_id and renewal.id = o.certificate_id
        where o.organization_id = w.organization_id and o.names_hash = w.names_hash and o.not_after > w.not_after
          and renewal.status = 'active' and renewal.not_before <= ${at}) or rotation = 'completed' as "isRenewed",
      rotation = 'running' as "isUnderWay",
      coalesce((
        select override -> 'thresholds' from jsonb_array_elements(p.overrides) with ordinality as o (override, place)
        where override ->> 'issuer' = c.issuer order by place limit 1), p.thresholds, ${JSON.stringify(DEFAULT_POLICY.thresholds)}::jsonb)::text as thresholds
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

export type Judged = Pick<Due, "organizationId" | "certificateId" | "ownerId"> & Judgement;

/** Keeps what was judged: when each certificate is due next, and what is to be told. Of several thresholds that were reached, only the most urgent is told. */
export async function keepJudgements(tx: Sql, judged: Judged[], now: Date) {
  await tx`
    with judged as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(judged)}::text::jsonb)
        as given ("organizationId" uuid, "certificateId" uuid, "ownerId" uuid, "dueAt" timestamptz, crossed int[])),
    moved as (
      update expiry_watch w set due_at = judged."dueAt" from judged
      where w.organization_id = judged."organizationId" and w.certificate_id = judged."certificateId")
    insert into expiry_tellings (organization_id, certificate_id, addressee, days, told_at)
    select "organizationId", "certificateId", coalesce("ownerId", ${MIN_UUID}), days, case when place > 1 then ${now.toISOString()}::timestamptz end
    from judged cross join unnest(crossed) with ordinality as threshold (days, place)
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

/** Takes what an organization is to be told, grouped by addressee and threshold. In the transaction that makes the notices, so that both are, or neither. */
export async function takeTellings(tx: Sql, organizationId: string, listed: number, now: Date) {
  const [row] = await tx<{ role: ExpiryPolicy["role"]; tellings: string }[]>`
    with told as (
      update expiry_tellings set told_at = ${now.toISOString()} where organization_id = ${organizationId} and told_at is null returning certificate_id, addressee, days),
    numbered as (
      select addressee, days, c.id, c.common_name, c.not_after, row_number() over (partition by addressee, days order by c.not_after, c.id) as place,
        count(*) over (partition by addressee, days)::int as count
      from told join certificates c on c.organization_id = ${organizationId} and c.id = told.certificate_id),
    grouped as (
      select addressee, days, count,
        json_agg(json_build_object('id', id, 'commonName', common_name, 'notAfter', iso(not_after)) order by place) as certificates
      from numbered where place <= ${listed} group by addressee, days, count)
    select coalesce((select role from expiry_policies where organization_id = ${organizationId}), ${DEFAULT_POLICY.role}) as role,
      (select coalesce(json_agg(grouped order by days, addressee), '[]') from grouped)::text as tellings`;
  return { role: row?.role ?? DEFAULT_POLICY.role, tellings: JSON.parse(row?.tellings ?? "[]") as Telling[] };
}
