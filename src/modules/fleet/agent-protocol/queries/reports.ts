import type { Sql } from "#db/connect";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { recordEventsOfKinds } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { AgentReport } from "../schema";

/**
 * Stores an agent's reports, all or none; a removed assignment is deleted, and only changed reports get an event and history.
 * Returns the index of the first that is of none of its assignments.
 */
export async function saveReports(sql: Sql, scope: Scope, agentId: string, { reports, host }: AgentReport, now: Date) {
  const { organizationId } = scope;
  const at = now.toISOString();
  const rows = reports.map(({ assignmentId, state, observedFingerprint, message, observedAt }, index) => ({
    index,
    id: assignmentId,
    state,
    fingerprint: observedFingerprint?.toLowerCase(),
    message,
    observed: observedAt,
  }));
  const news = sql`
      select id, jsonb_strip_nulls(jsonb_build_object('state', state, 'observedFingerprint', fingerprint, 'message', message)) from reported where is_news`;
  const [row] = await sql<{ unknown: number | null }[]>`
    -- locks the agent
    with agent as (select id, name from agents where organization_id = ${organizationId} and id = ${agentId} for no key update),
    -- the reports of the request
    given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as report (index int, id uuid, state text, fingerprint text, message text, observed timestamptz)),
    -- locks the reported assignments; is_news when a report differs from the stored one in more than its times
    current as (
      select a.id, reported_state as previous, (reported_state, reported_fingerprint, reported_message) is distinct from (given.state, given.fingerprint, given.message) as is_news,
        removing_since is not null and given.state = 'removed' as is_gone
      from agent join assignments a on a.organization_id = ${organizationId} and a.agent_id = agent.id join given on given.id = a.id
      for no key update of a),
    -- index of the first report without an assignment; null when each has one
    missing as (select min(index) as index from given where not exists (select from current where current.id = given.id)),
    -- deletes what is removed, unless one is missing
    deleted as (
      delete from assignments a using missing, current
      where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = current.id and is_gone and missing.index is null returning a.*),
    -- stores the last report of each other assignment, unless one is missing
    reported as (
      update assignments set reported_state = given.state, reported_fingerprint = given.fingerprint, reported_message = given.message, reported_at = ${at},
        observed_at = date_trunc('milliseconds', given.observed)
      from missing, given join current on current.id = given.id
      where assignments.organization_id = ${organizationId} and assignments.agent_id = ${agentId} and assignments.id = given.id and not is_gone and missing.index is null
      returning assignments.id, certificate_id, is_news, previous, state, fingerprint, given.message, assignments.observed_at),
    -- updates the agent, unless one is missing
    seen as (
      update agents set last_seen_at = ${at}, host = coalesce(${host ? JSON.stringify(host) : null}::jsonb, host)
      from agent, missing where organization_id = ${organizationId} and agents.id = agent.id and missing.index is null),
    -- adds the reports with news to the history
    kept as (
      insert into deployment_reports (organization_id, agent_id, assignment_id, id, state, observed_fingerprint, message, reported_at, observed_at)
      select ${organizationId}, ${agentId}, id, new_id(), state, fingerprint, message, ${at}, observed_at from reported where is_news),
    -- an audit event for each deleted assignment
    deleting as (${auditAssignments(sql, scope, "assignment.deleted", sql`deleted`)}),
    -- an event for each report with news, or that ends a state
    recorded as (${recordEventsOfKinds(sql, newsOf(sql, organizationId))}),
    -- an audit event for each report with news
    audited as (${audit(sql, scope, "assignment.reported", news)})
    select index as unknown from missing`;
  return row?.unknown ?? undefined;
}

/**
 * Selects the events of reports: each drift, and a failure or refusal once until the agent reports another state. The state
 * before the report shows which one ends.
 */
const newsOf = (sql: Sql, organizationId: string) => sql`
  select ${organizationId}::uuid, kind, is_end, r.id,
    jsonb_build_object('agentId', agent.id, 'agentName', agent.name, 'commonName', c.common_name, 'reason', message), null::uuid, null::member_role
  from reported r cross join agent
  cross join lateral (values
    ('assignment_' || previous, true, previous in ('failed', 'refused') and previous <> state),
    ('assignment_' || state, false, state = 'drifted' or state in ('failed', 'refused') and previous is distinct from state)) as event (kind, is_end, is_due)
  join certificates c on c.organization_id = ${organizationId} and c.id = r.certificate_id
  where is_news and is_due`;
