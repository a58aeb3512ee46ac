import type { Fragment, Sql } from "#db/connect";

/** Agents that one statement counts, so that others need not wait long for the database, and changes among which it looks for them. */
const [AGENTS_AT_ONCE, CHANGES_AT_ONCE] = [1_000, 20_000];

/**
 * Part of a statement: the profiles of the agents that `agents` yields as (organization_id, agent_id); of those without an
 * assignment, none.
 */
const profilesOf = (sql: Sql, agents: Fragment) => sql`
  select *, id_of(jsonb_build_array(platform, stores, materials, enabled, times)::text) as id from (
    select agents.organization_id, agents.id as agent_id, coalesce(host->>'platform', 'unknown') as platform, held.*
    from (${agents}) as given join agents on agents.organization_id = given.organization_id and agents.id = given.agent_id
    cross join lateral (
      select array_agg(store order by n) as stores, array_agg(material order by n) as materials, array_agg(enabled order by n) as enabled, array_agg(times order by n) as times
      from (
        select trust_store_type as store, material_type as material, enabled, count(*)::int as times,
          row_number() over (order by trust_store_type, material_type, enabled) as n
        from assignments where organization_id = agents.organization_id and agent_id = agents.id group by 1, 2, 3) as of_agent) as held
    where stores is not null) as profile`;

/**
 * Counts the changed agents in their present profiles, under the lock of the counts, and returns how many changes it took from
 * the queue. A change that commits meanwhile stays in the queue.
 */
export async function foldCoverageChanges(sql: Sql): Promise<number> {
  const [row] = await sql<{ folded: number }[]>`
    -- agents with changes: each is counted once, however many they are
    with changed as materialized (
      select distinct organization_id, agent_id from (select * from coverage_changes limit ${CHANGES_AT_ONCE}::int) as waiting limit ${AGENTS_AT_ONCE}::int),
    -- takes their changes from the queue
    taken as (
      delete from coverage_changes as c using changed where c.organization_id = changed.organization_id and c.agent_id = changed.agent_id returning 1),
    -- the profile of each changed agent now
    present as materialized (${profilesOf(sql, sql`select * from changed`)}),
    -- the profile in which each changed agent is counted
    before as (select organization_id, agent_id, profile_id as id from changed join coverage_agents using (organization_id, agent_id)),
    -- stores the profile of each changed agent
    placed as (
      insert into coverage_agents select organization_id, agent_id, id from present
      on conflict (organization_id, agent_id) do update set profile_id = excluded.profile_id),
    -- deletes the agents that have no assignment any more
    gone as (
      delete from coverage_agents as c using changed
      where c.organization_id = changed.organization_id and c.agent_id = changed.agent_id
        and not exists (select from present where present.organization_id = c.organization_id and present.agent_id = c.agent_id)),
    -- by how many agents each profile grows or shrinks
    moved as (
      select organization_id, id, sum(agents)::int as agents
      from (select organization_id, id, 1 as agents from present union all select organization_id, id, -1 from before) as each group by 1, 2),
    -- changes the counts of known profiles
    recounted as (
      update coverage_profiles as p set agents = p.agents + moved.agents from moved
      where p.organization_id = moved.organization_id and p.id = moved.id and moved.agents <> 0),
    -- adds new profiles
    added as (
      insert into coverage_profiles
      select distinct on (organization_id, id) organization_id, id, platform, stores, materials, enabled, times, moved.agents
      from present join moved using (organization_id, id)
      where not exists (select from coverage_profiles as p where p.organization_id = present.organization_id and p.id = present.id))
    select count(*)::int as folded from taken`;
  await sql`delete from coverage_profiles where agents = 0`;
  return row?.folded ?? 0;
}

/**
 * Part of a statement that lists what agents hold. A holder is a profile, which `agents` agents share, or one agent with a change that is
 * not counted yet.
 */
export const coverageOf = (sql: Sql, organizationId: string) => sql`
  select id as holder, platform, counted as agents, store, material, is_enabled, held.times
  from (
    select p.*, agents - coalesce(changed, 0) as counted from coverage_profiles as p
    left join (
      select profile_id, count(*) as changed from coverage_agents
      where organization_id = ${organizationId} and agent_id in (select agent_id from coverage_changes where organization_id = ${organizationId}) group by 1) as c
    on p.id = c.profile_id where p.organization_id = ${organizationId}) as profile,
    unnest(stores, materials, enabled, profile.times) as held (store, material, is_enabled, times)
  where counted > 0
  union all
  select agent_id, coalesce(host->>'platform', 'unknown'), 1, trust_store_type, material_type, enabled, 1
  from (select distinct agent_id from coverage_changes where organization_id = ${organizationId}) as changed
  join agents on agents.organization_id = ${organizationId} and agents.id = agent_id
  join assignments using (organization_id, agent_id)`;

/** Counts all agents and assignments again. As `recountCertificates`. */
export const recountCoverage = (sql: Sql) => sql`
  with agents as (delete from coverage_agents), profiles as (delete from coverage_profiles), changes as (delete from coverage_changes)
  insert into coverage_changes select distinct organization_id, agent_id from assignments`;

/** True for an assignment that is not as it should be, as `drift_reason` judges: the condition of the index that counts them. */
export const hasDrift = (sql: Sql) => sql`(is_adrift or (enabled and reported_state is null))`;

/** Computes again which reported assignments have a drift, in a transaction. Writes of assignments wait for its end. */
export async function recountDrifts(sql: Sql) {
  await sql`lock table assignments in share row exclusive mode`;
  await sql`
    update assignments as a set is_adrift = not is_adrift from certificates c
    where c.organization_id = a.organization_id and c.id = a.certificate_id and is_adrift <> (reported_state is not null
      and drift_reason(enabled, reported_state, reported_fingerprint, fingerprint_sha256, reported_at, a.updated_at) is not null)`;
}
