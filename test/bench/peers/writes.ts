import { type DatabaseRow, type Incoming, iso, type Query } from "./work";

export async function createAssignment(query: Query, { params, body }: Incoming) {
  const config = body.config as DatabaseRow;
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
      targetOf(config),
    ],
  );
  return describeAssignment(row);
}

export async function updateAssignment(query: Query, { params, body }: Incoming) {
  const config = body.config as DatabaseRow | undefined;
  const [row = {}] = await query(
    `update assignments a set application_id = coalesce($4, application_id), config = coalesce($5::text::jsonb, config), target = coalesce($6, target),
      version = a.version + 1, updated_at = now() from certificates c
    where a.organization_id = $1 and a.agent_id = $2 and a.id = $3 and c.organization_id = a.organization_id and c.id = a.certificate_id
    returning a.*, common_name`,
    [
      params.organizationId,
      params.agentId,
      params.assignmentId,
      body.applicationId ?? null,
      config ? JSON.stringify(config) : null,
      config ? targetOf(config) : null,
    ],
  );
  return describeAssignment(row);
}

const targetOf = (config: DatabaseRow) => JSON.stringify([config.trustStorePath ?? null, config.alias ?? null]);

const describeAssignment = (row: DatabaseRow) => ({
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

export async function ingestMetrics(query: Query, { params, body }: Incoming) {
  const samples = body.samples as DatabaseRow[];
  const rows = await query(
    `insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value, unit)
    select s.organization_id, s.id, metric, "recordedAt", labels, hashtextextended(labels::text, 0), value, unit
    from ai_systems s cross join jsonb_to_recordset($3::text::jsonb) as sample (metric text, "recordedAt" timestamptz, labels jsonb, value float8, unit text)
    where s.organization_id = $1 and s.key = $2 on conflict do nothing returning 1`,
    [params.organizationId, body.system, JSON.stringify(samples)],
  );
  return { accepted: rows.length, duplicates: samples.length - rows.length };
}

/** Locks the rows in one order: two statements that change the same thousand rows could wait for each other. */
export async function updateLabels(query: Query, { params, body }: Incoming) {
  const [row] = await query(
    `with locked as (
      select organization_id, id from agents where organization_id = $1 and labels @> $2::text::jsonb order by id for update),
    changed as (
      update agents a set labels = labels || $3::text::jsonb, version = version + 1, updated_at = now()
      from locked where a.organization_id = locked.organization_id and a.id = locked.id returning 1)
    select count(*)::int from changed`,
    [params.organizationId, JSON.stringify(body.selector), JSON.stringify(body.set)],
  );
  return { matched: row?.count, updated: row?.count, notFound: [] };
}
