import type { Fragment } from "postgres";
import type { Sql } from "../../db/connect";
import { auditEach, type Scope } from "../audit/queries";
import { isStepOf, steps } from "./progress";

/** True where no assignment of `certificate` has the place of the assignment `a`. */
const isFree = (sql: Sql, certificate: Fragment) => sql`not exists (select from assignments other
  where (other.organization_id, other.agent_id, other.certificate_id, other.trust_store_type, other.target)
    = (a.organization_id, a.agent_id, ${certificate}, a.trust_store_type, a.target))`;

/** In the order in which reports take them too: the agents, by id, before their assignments. */
const lockAgents = (tx: Sql, organizationId: string, id: string, which: Fragment) => tx`
  select count(*) from (
    select from agents join rollout_steps s on (s.organization_id, s.agent_id) = (agents.organization_id, agents.id)
    where s.organization_id = ${organizationId} and s.rollout_id = ${id} and ${which} order by agents.id for no key update of agents) as locked`;

/**
 * Lets agents have the certificate, those of the steps `s` that are meant by `which`: what the rollout made is enabled, unless what it
 * was copied from is not, and what was there changes its certificate, unless somebody ended its renewal meanwhile.
 */
export async function bring(tx: Sql, scope: Scope, id: string, which: Fragment) {
  await lockAgents(tx, scope.organizationId, id, which);
  await tx`
    with changed as (
      update assignments a set certificate_id = r.certificate_id, enabled = a.enabled or s.is_made, version = a.version + 1, updated_at = now()
      from ${steps(tx)}
      where ${isStepOf(tx, scope.organizationId, tx`${id}`)} and ${which} and case
        when s.is_made then not a.enabled and a.certificate_id = r.certificate_id and coalesce(source.enabled, s.source_id is null)
        else a.certificate_id = r.predecessor_id and ${isRenewed(tx, tx`a`)} and ${isFree(tx, tx`r.certificate_id`)} end
      returning a.id, a.certificate_id, s.is_made, s.rollout_id),
    audited as (${auditEach(
      tx,
      scope,
      "assignment.updated",
      "assignment",
      tx`
      select id, jsonb_build_object('rolloutId', rollout_id, 'changes', case when is_made then jsonb_build_object('enabled', true)
        else jsonb_build_object('certificateId', certificate_id) end) from changed`,
    )})
    select count(*) from changed`;
}

/** Whether the assignment changes to a successor by itself. */
export const isRenewed = (sql: Sql, assignment: Fragment) => sql`${assignment}.auto_renew and ${assignment}.config->'autoRenew' is distinct from 'false'`;

/** Takes it all back: what the rollout made is deleted, and what changed its certificate has the predecessor again, where its place is still free. */
export async function takeBack(tx: Sql, scope: Scope, id: string) {
  await lockAgents(tx, scope.organizationId, id, tx`true`);
  await tx`
    with deleted as (
      delete from assignments a using ${steps(tx)}
      where ${isStepOf(tx, scope.organizationId, tx`${id}`)} and s.is_made and a.certificate_id = r.certificate_id returning a.*, s.rollout_id),
    audited as (${auditEach(
      tx,
      scope,
      "assignment.deleted",
      "assignment",
      tx`
      select id, jsonb_build_object('rolloutId', rollout_id, 'agentId', agent_id, 'certificateId', certificate_id, 'trustStoreType', trust_store_type) from deleted`,
    )})
    select count(*) from deleted`;
  await tx`
    with changed as (
      update assignments a set certificate_id = r.predecessor_id, version = a.version + 1, updated_at = now()
      from ${steps(tx)}
      where ${isStepOf(tx, scope.organizationId, tx`${id}`)} and s.source_id = a.id and a.certificate_id = r.certificate_id
        and ${isFree(tx, tx`r.predecessor_id`)} returning a.id, a.certificate_id, s.rollout_id),
    audited as (${auditEach(
      tx,
      scope,
      "assignment.updated",
      "assignment",
      tx`
      select id, jsonb_build_object('rolloutId', rollout_id, 'changes', jsonb_build_object('certificateId', certificate_id)) from changed`,
    )})
    select count(*) from changed`;
}
