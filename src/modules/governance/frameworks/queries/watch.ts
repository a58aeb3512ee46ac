import type { Pool, Sql } from "#db/connect";
import { statusOf } from "#modules/certificates/certificates/queries/certificates";
import type { FrameworkKey } from "../rules/catalogue";
import { recordControlEvents } from "./events";

type Due = { organizationId: string; controlId: string; framework: FrameworkKey; ownerId: string | null; dueDate: string; isOverdue: boolean };

/** Records events of controls that are due within seven days, or overdue, in UTC. Returns how many were judged. */
export const watchDueDates = (sql: Pool, count: number, now: Date) =>
  sql.begin(async (tx) => {
    const today = tx`${now.toISOString().slice(0, 10)}::date`;
    const due = await tx<Due[]>`
      with due as materialized (
        select organization_id, control_id from controls where look_on <= ${today} order by look_on limit ${count} for update skip locked)
      update controls c set look_on = case when due_date >= ${today} then due_date + 1 end from due
      where c.organization_id = due.organization_id and c.control_id = due.control_id
      returning c.organization_id as "organizationId", c.control_id as "controlId", framework, owner_id as "ownerId", due_date::text as "dueDate", due_date < ${today} as "isOverdue"`;
    await recordControlEvents(
      tx,
      due.map(({ dueDate, isOverdue, ...each }) => ({ ...each, kind: isOverdue ? "control_overdue" : "control_due", isEnd: false, facts: { dueDate } })),
    );
    return due.length;
  });

type Broken = { organizationId: string; controlId: string; framework: FrameworkKey; ownerId: string | null; count: number; begins: boolean; ends: boolean } & {
  commonName: string | null;
  status: string | null;
};

const HAPPENED = new Map([
  ["expired", "has expired"],
  ["revoked", "was revoked"],
  ["retired", "was retired"],
]);

/**
 * Records events of the controls whose evidence is good no longer, and their ends where it is again. Returns how many certificates
 * were judged.
 */
export const watchEvidence = (sql: Pool, count: number, now: Date) =>
  sql.begin(async (tx) => {
    const controls = await judgeEvidence(tx, count, now);
    await recordControlEvents(
      tx,
      controls.flatMap(({ begins, ends, commonName, status, count: _, ...each }) => {
        const reason = `The certificate ${commonName}, which is its evidence, ${HAPPENED.get(status ?? "") ?? "is not active"}.`;
        return begins || ends ? { ...each, kind: "control_reopened" as const, isEnd: ends, facts: { reason } } : [];
      }),
    );
    return controls.reduce((sum, each) => sum + each.count, 0);
  });

/** Attention begins with the first certificate of a control that is not active, and ends with the last. */
const judgeEvidence = (tx: Sql, count: number, now: Date) => tx<Broken[]>`
  with due as materialized (
    select * from control_evidence where due_at <= ${now.toISOString()} order by due_at limit ${count} for update skip locked),
  judged as materialized (
    select due.*, c.common_name, c.not_after, ${statusOf(tx, now)} as status from due
    cross join lateral (select * from certificates where certificates.organization_id = due.organization_id and certificates.id = due.certificate_id offset 0) as c),
  moved as (
    update control_evidence e set due_at = case when status = 'active' then judged.not_after end,
      broken_since = case when status <> 'active' then coalesce(e.broken_since, ${now.toISOString()}) end
    from judged
    where e.organization_id = judged.organization_id and e.control_id = judged.control_id and e.certificate_id = judged.certificate_id),
  control as (
    select organization_id, control_id, count(*)::int as count, bool_or(status <> 'active') as is_broken,
      (array_agg(common_name order by status = 'active'))[1] as common_name, (array_agg(status order by status = 'active'))[1] as status
    from judged group by 1, 2)
  select control.organization_id as "organizationId", control.control_id as "controlId", framework, owner_id as "ownerId", control.count,
    control.common_name as "commonName", control.status::text, is_broken and not was_broken as begins, not is_broken and was_broken and not others_broken as ends
  from control
  cross join lateral (select * from controls c where c.organization_id = control.organization_id and c.control_id = control.control_id offset 0) as c
  cross join lateral (
    select count(broken_since) > 0 as was_broken, bool_or(broken_since is not null and not exists (
      select from judged where (judged.organization_id, judged.control_id, judged.certificate_id) = (e.organization_id, e.control_id, e.certificate_id))) as others_broken
    from control_evidence e where e.organization_id = control.organization_id and e.control_id = control.control_id) as before`;
