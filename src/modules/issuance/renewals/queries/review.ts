import { arrayOf, type Fragment, type Sql } from "#db/connect";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import type { KeyLocation } from "#modules/issuance/issuing/rules/policy";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import type { Standing } from "../rules/backoff";
import type { Decision, RenewalFacts } from "../rules/next";
import { mayFollow } from "./order";

export type IssuerKey = { organizationId: string; issuerId: string };
/** A renewal that was found due, with what its next request will be for. */
export type DueRenewal = RenewalFacts & { successorId: string | null; names: Name[]; keyAlgorithm: string; keyLocation: KeyLocation };

/** Returns the issuer of the renewal that was due first, but for those of `seen`. */
export async function findDueIssuer(sql: Sql, seen: string[], now: Date) {
  const [row] = await sql<IssuerKey[]>`
    select organization_id as "organizationId", issuer_id as "issuerId" from renewals
    where look_at <= ${now.toISOString()} and state <> 'issued' and issuer_id <> all(${arrayOf(seen)}::uuid[]) order by look_at limit 1`;
  return row;
}

/** Returns the standing of an issuer, and until when its CA is not to be asked. */
export async function findIssuerStanding(tx: Sql, { organizationId, issuerId }: IssuerKey): Promise<Standing & { retryAt: Date | null }> {
  const [row] = await tx<{ failures: number; restsUntil: string | null; retryAt: string | null }[]>`
    select coalesce(r.failures, 0) as failures, iso(r.rests_until) as "restsUntil", iso(i.retry_at) as "retryAt"
    from issuers i left join renewal_rests r on r.organization_id = i.organization_id and r.issuer_id = i.id
    where i.organization_id = ${organizationId} and i.id = ${issuerId}`;
  return { failures: row?.failures ?? 0, restsUntil: dateOf(row?.restsUntil ?? null), retryAt: dateOf(row?.retryAt ?? null) };
}

/** Saves the standing of an issuer, where it has changed. */
export async function saveIssuerStanding(tx: Sql, { organizationId, issuerId }: IssuerKey, before: Standing, { failures, restsUntil }: Standing) {
  if (failures === before.failures && restsUntil?.getTime() === before.restsUntil?.getTime()) return;
  await tx`
    insert into renewal_rests (organization_id, issuer_id, failures, rests_until)
    values (${organizationId}, ${issuerId}, ${failures}, ${restsUntil?.toISOString() ?? null})
    on conflict (organization_id, issuer_id) do update set failures = excluded.failures, rests_until = excluded.rests_until`;
}

const dateOf = (text: string | null) => (text === null ? null : new Date(text));
type Times = "notBefore" | "notAfter" | "renewAt" | "lateAt";
type StoredRenewal = Omit<DueRenewal, Times | "askedAt" | "retryAt" | "window"> &
  Record<Times, string> &
  Record<"askedAt" | "retryAt" | "windowStart" | "windowEnd", string | null>;

/**
 * Takes the renewals of an issuer that were due first, in a transaction that has locked the issuer. Tables are read by their keys (OFFSET
 * 0).
 */
export async function takeDue(tx: Sql, { organizationId, issuerId }: IssuerKey, count: number, now: Date): Promise<DueRenewal[]> {
  const rows = await tx<StoredRenewal[]>`
    with due as materialized (
      select * from renewals where organization_id = ${organizationId} and issuer_id = ${issuerId} and look_at <= ${now.toISOString()} and state <> 'issued'
      order by look_at limit ${count} for update skip locked)
    select w.certificate_id as "certificateId", iso(c.not_before) as "notBefore", iso(c.not_after) as "notAfter", c.status, c.revocation_reason as "revocationReason",
      w.state, w.is_planned as "isPlanned", iso(w.asked_at) as "askedAt", iso(w.window_start) as "windowStart", iso(w.window_end) as "windowEnd",
      iso(w.renew_at) as "renewAt", iso(w.late_at) as "lateAt", iso(w.retry_at) as "retryAt", w.late_since is not null as "isLate", w.failures, w.failure,
      case when w.state = 'ordered' then json_build_object('status', case when q.ended_at is null then 'open' else q.status::text end, 'reason', q.reason) end as request,
      q.certificate_id as "successorId", rotation.is_there as "isRotated", deployed.is_there as "isDeployed", t.key_location = 'csr' as "keepsKey",
      t.agent_id is not null and host.id is null as "isHostGone",
      q.status is not distinct from 'cancelled' or (t.ended_at is not null and not ${mayFollow(tx, tx`t`)}) as "isCancelled",
      not exists (select from issuers where organization_id = w.organization_id and id = w.issuer_id) as "isIssuerGone", t.names, t.key_algorithm as "keyAlgorithm", t.key_location as "keyLocation"
    from due w
    cross join lateral (select * from certificates where organization_id = w.organization_id and id = w.certificate_id offset 0) as c
    cross join lateral (select * from certificate_requests where organization_id = w.organization_id and id = w.template_id offset 0) as t
    left join lateral (select * from certificate_requests where organization_id = w.organization_id and id = w.request_id offset 0) as q on true
    left join lateral (select id from agents where organization_id = w.organization_id and id = t.agent_id offset 0) as host on true
    cross join lateral (select ${exists(tx, tx`rollouts`, tx`predecessor_id = w.certificate_id and status in ('running', 'halted', 'completed')`)}) as rotation
    cross join lateral (select ${exists(tx, tx`assignments`, tx`certificate_id in (w.certificate_id, q.certificate_id)`)}) as deployed`;
  return rows.map(({ windowStart, windowEnd, ...row }) => ({
    ...row,
    notBefore: new Date(row.notBefore),
    notAfter: new Date(row.notAfter),
    renewAt: new Date(row.renewAt),
    lateAt: new Date(row.lateAt),
    askedAt: dateOf(row.askedAt),
    retryAt: dateOf(row.retryAt),
    window: windowStart && windowEnd ? { start: new Date(windowStart), end: new Date(windowEnd) } : null,
  }));
}

const exists = (sql: Sql, table: Fragment, where: Fragment) =>
  sql`exists (select from ${table} where organization_id = w.organization_id and ${where}) as is_there`;

/** Saves decisions, with the events of their news. */
export async function saveDecisions(tx: Sql, organizationId: string, decided: { row: DueRenewal; next: Decision }[], now: Date) {
  const kept = decided.map(({ row: { certificateId, successorId }, next }) => ({ ...next, certificateId, successorId }));
  const over = tx`select ${organizationId}::uuid, certificate_id from given where news ? 'over'`;
  const events = (which: "failed" | "late") => tx`
    select ${organizationId}::uuid, c.id, jsonb_build_object('commonName', c.common_name, 'notAfter', iso(c.not_after), 'reason', given.failure), c.owner_id, null::member_role
    from given cross join lateral (select * from certificates where organization_id = ${organizationId} and id = given.certificate_id offset 0) as c
    where news ? ${which}`;
  await tx`
    with given as materialized (
      select "certificateId" as certificate_id, g.* from jsonb_to_recordset(${JSON.stringify(kept)}::text::jsonb) as g ("certificateId" uuid, state renewal_state, "renewAt" timestamptz,
        "lateAt" timestamptz, "retryAt" timestamptz, "reviewAt" timestamptz, "isLate" boolean, failures int, failure text, "successorId" uuid, news jsonb)),
    kept as (
      update renewals w set state = given.state, is_planned = true, renew_at = "renewAt", late_at = "lateAt", retry_at = "retryAt", look_at = "reviewAt",
        late_since = case when "isLate" then coalesce(w.late_since, ${now.toISOString()}) end, failures = given.failures, failure = given.failure,
        successor_id = case when given.state in ('issued', 'renewed') then "successorId" end,
        ask_window_at = case when given.state in ('scheduled', 'failed') then w.ask_window_at end, updated_at = now()
      from given where w.organization_id = ${organizationId} and w.certificate_id = given.certificate_id),
    failed as (${recordEvents(tx, "certificate_renewal_failed", events("failed"))}),
    late as (${recordEvents(tx, "certificate_renewal_late", events("late"))}),
    no_failure as (${recordEnds(tx, "certificate_renewal_failed", over)})
    ${recordEnds(tx, "certificate_renewal_late", over)}`;
}

/** Ends some renewals of an issuer that was deleted. Returns false where there is no such issuer left. */
export async function endDeleted(sql: Sql, count: number) {
  const [row] = await sql<{ isThere: boolean }[]>`
    with deleted as (select * from renewal_ends limit 1 for update skip locked),
    part as materialized (
      select w.organization_id, w.certificate_id from deleted cross join lateral (
        select * from renewals where organization_id = deleted.organization_id and issuer_id = deleted.issuer_id and state in ('scheduled', 'failed')
        order by renew_at, certificate_id limit ${count} for update) as w),
    ended as (
      update renewals w set state = 'ended', failure = 'The issuer was deleted.', look_at = null, ask_window_at = null, retry_at = null, late_since = null, updated_at = now()
      from part where w.organization_id = part.organization_id and w.certificate_id = part.certificate_id),
    no_failure as (${recordEnds(sql, "certificate_renewal_failed", sql`select organization_id, certificate_id from part`)}),
    not_late as (${recordEnds(sql, "certificate_renewal_late", sql`select organization_id, certificate_id from part`)}),
    done as (delete from renewal_ends e using deleted where e.organization_id = deleted.organization_id and e.issuer_id = deleted.issuer_id and not exists (select from part))
    select exists (select from deleted) as "isThere"`;
  return row?.isThere ?? false;
}
