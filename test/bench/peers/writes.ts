import { type Database, type Incoming, iso, type Row } from "./work";

export async function createAssignment({ query }: Database, { params, body }: Incoming) {
  const config = body.config as Row;
  const [row = {}] = await query(
    `with a as (
      insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
        config, target, auto_renew, enabled)
      values ($1, $2, $3, $4, $5, $6, 'trust_anchor', false, $7::text::jsonb, $8, true, true) returning *)
    select a.*, common_name from a join certificates c on c.organization_id = $1 and c.id = $4`,
    [
      params.organizationId,
      crypto.randomUUID(),
      params.agentId,
      body.certificateId,
      body.applicationId,
      body.trustStoreType,
      JSON.stringify(config),
      JSON.stringify([config.trustStorePath ?? null, config.alias]),
    ],
  );
  return describeAssignment(row);
}

export async function updateAssignment({ query }: Database, { params, body }: Incoming) {
  const [row = {}] = await query(
    `update assignments a set application_id = $4, version = a.version + 1, updated_at = now() from certificates c
    where a.organization_id = $1 and a.agent_id = $2 and a.id = $3 and c.organization_id = a.organization_id and c.id = a.certificate_id
    returning a.*, common_name`,
    [params.organizationId, params.agentId, params.assignmentId, body.applicationId],
  );
  return describeAssignment(row);
}

const describeAssignment = (row: Row) => ({
  id: row.id,
  organizationId: row.organization_id,
  agentId: row.agent_id,
  applicationId: row.application_id,
  certificateId: row.certificate_id,
  trustStoreType: row.trust_store_type,
  materialType: row.material_type,
  includePrivateKey: row.include_private_key,
  keyOnHost: row.key_on_host,
  config: row.config,
  policyId: row.policy_id,
  version: row.version,
  etag: `"${row.version}"`,
  autoRenew: row.auto_renew,
  enabled: row.enabled,
  commonName: row.common_name,
  createdAt: iso(row.created_at),
  updatedAt: iso(row.updated_at),
});

export async function ingestMetrics({ query }: Database, { params, body }: Incoming) {
  const samples = body.samples as Row[];
  const rows = await query(
    `insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value, unit)
    select s.organization_id, s.id, metric, "recordedAt", labels, hashtextextended(labels::text, 0), value, unit
    from ai_systems s cross join jsonb_to_recordset($3::text::jsonb) as sample (metric text, "recordedAt" timestamptz, labels jsonb, value float8, unit text)
    where s.organization_id = $1 and s.key = $2 on conflict do nothing returning 1`,
    [params.organizationId, body.system, JSON.stringify(samples)],
  );
  return { accepted: rows.length, duplicates: samples.length - rows.length };
}

/** Under a lock: two statements that change the same thousand rows can deadlock. */
export async function updateLabels({ transaction }: Database, { params, body }: Incoming) {
  const [row] = await transaction(async (query) => {
    await query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [params.organizationId]);
    return query(
      `with changed as (
        update agents set labels = labels || $3::text::jsonb, version = version + 1, updated_at = now()
        where organization_id = $1 and labels @> $2::text::jsonb returning 1)
      select count(*)::int from changed`,
      [params.organizationId, JSON.stringify(body.selector), JSON.stringify(body.set)],
    );
  });
  return { matched: row?.count, updated: row?.count, notFound: [] };
}
