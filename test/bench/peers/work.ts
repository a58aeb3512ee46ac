type Row = Record<string, unknown>;
export type Query = (text: string, values: unknown[]) => Promise<Row[]>;
export type Database = { query: Query; transaction: (work: (query: Query) => Promise<Row[]>) => Promise<Row[]> };
export type Incoming = { params: Record<string, string>; search: Record<string, string>; userId: string; body: Row };
export type Route = { method: "GET" | "POST" | "PATCH"; path: string; status: number; answer: (db: Database, request: Incoming) => unknown };
/** What a peer is started with; `catalogue` is the answer of operation 5. */
export type Task = { port: number; url: string; catalogue: string };

const iso = (time: unknown) => (time instanceof Date ? time.toISOString() : null);
const daysUntil = (time: unknown) => Math.floor((Number(time) - Date.now()) / 86_400_000);

/**
 * The operations as a competent developer writes them by hand, on the same tables and rows and with answers of the same
 * shape: one plain statement each, objects made in JavaScript. No audit event, no log, no metrics; bodies are not checked.
 */
export const routes = (catalogue: string): Route[] => [
  { method: "GET", path: "/organizations/:organizationId/certs/trust-store-catalog", status: 200, answer: () => catalogue },
  { method: "GET", path: "/organizations/:organizationId/certs/monitoring/top-expiring", status: 200, answer: listExpiring },
  { method: "GET", path: "/portal/organizations/:organizationId/certificates/:certificateId", status: 200, answer: findCertificate },
  { method: "GET", path: "/users/me/notifications/inbox", status: 200, answer: readInbox },
  { method: "POST", path: "/organizations/:organizationId/agents/:agentId/assignments", status: 201, answer: createAssignment },
  { method: "PATCH", path: "/organizations/:organizationId/agents/:agentId/assignments/:assignmentId", status: 200, answer: updateAssignment },
  { method: "POST", path: "/organizations/:organizationId/ai-governance/ingest/metrics", status: 202, answer: ingestMetrics },
  { method: "POST", path: "/organizations/:organizationId/fleet-operations/bulk-label-update", status: 200, answer: updateLabels },
];

/** The user that a token names; its signature is not checked. */
export function userOf(authorization = "") {
  const [, payload] = authorization.split(".");
  return payload ? String(JSON.parse(Buffer.from(payload, "base64url").toString()).sub) : "";
}

async function listExpiring({ query }: Database, { params, search }: Incoming) {
  const rows = await query(
    `select id, common_name, not_after from certificates
    where organization_id = $1 and status = 'active' and not_after > $2 and not_before <= $2 order by not_after, id limit $3`,
    [params.organizationId, new Date(), Number(search.limit ?? 10)],
  );
  const items = rows.map((row) => ({
    certificateId: row.id,
    commonName: row.common_name,
    expiresAt: iso(row.not_after),
    daysRemaining: daysUntil(row.not_after),
  }));
  return { items };
}

async function findCertificate({ query }: Database, { params, userId }: Incoming) {
  const { organizationId, certificateId } = params;
  const [chain, deployments] = await Promise.all([
    query(
      `with recursive chain as (
        select c.*, 0 as depth from certificates c join members m on m.organization_id = c.organization_id and m.user_id = $3 and m.status = 'active'
        where c.organization_id = $1 and c.id = $2
        union all
        select issuer.*, depth + 1 from chain join certificates issuer on issuer.organization_id = chain.organization_id and issuer.id = chain.issuer_id where depth < 10)
      select * from chain order by depth`,
      [organizationId, certificateId, userId],
    ),
    query(
      `select a.*, agents.name, (select count(*)::int from assignments where organization_id = $1 and certificate_id = $2) as total
      from assignments a join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id
      where a.organization_id = $1 and a.certificate_id = $2 order by a.id limit 1000`,
      [organizationId, certificateId],
    ),
  ]);
  const [certificate = {}, ...issuers] = chain;
  return {
    ...(certificate.facts as Row),
    ...describeCertificate(certificate),
    organizationId,
    issuer: certificate.issuer,
    notBefore: iso(certificate.not_before),
    revokedAt: iso(certificate.revoked_at),
    revocationReason: certificate.revocation_reason,
    retiredAt: iso(certificate.retired_at),
    issuerCertificateId: certificate.issuer_id,
    hasPrivateKey: certificate.sealed_private_key !== null,
    version: certificate.version,
    createdAt: iso(certificate.created_at),
    updatedAt: iso(certificate.updated_at),
    daysRemaining: Math.max(0, daysUntil(certificate.not_after)),
    chain: issuers.map(describeCertificate),
    deploymentCount: deployments[0]?.total ?? 0,
    deployments: deployments.map(describeDeployment),
  };
}

const describeCertificate = (row: Row) => ({
  id: row.id,
  commonName: row.common_name,
  subject: row.subject,
  fingerprintSha256: row.fingerprint_sha256,
  notAfter: iso(row.not_after),
  isCa: row.is_ca,
  selfSigned: row.self_signed,
  status: row.status === "active" && Number(row.not_after) <= Date.now() ? "expired" : row.status,
  pem: row.pem,
});

const describeDeployment = (row: Row) => ({
  assignmentId: row.id,
  agentId: row.agent_id,
  agentName: row.name,
  applicationId: row.application_id,
  trustStoreType: row.trust_store_type,
  enabled: row.enabled,
  state: row.reported_state,
  observedFingerprint: row.reported_fingerprint,
  message: row.reported_message,
  reportedAt: iso(row.reported_at),
  history: [],
});

async function readInbox({ query }: Database, { userId, search }: Incoming) {
  const page = Number(search.page ?? 0);
  const limit = Number(search.limit ?? 10);
  const rows = await query(
    `select notices.*, total, unread, read_up_to, read_up_to_at from notices join inboxes using (user_id)
    where user_id = $1 order by position desc limit $2 offset $3`,
    [userId, limit, page * limit],
  );
  const items = rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    title: row.title,
    message: row.message,
    organizationId: row.organization_id,
    data: row.data,
    example: row.example,
    readAt: iso(row.read_at ?? (Number(row.position) <= Number(row.read_up_to) ? row.read_up_to_at : null)),
    createdAt: iso(row.created_at),
  }));
  return { items, page, limit, total: rows[0]?.total, unread: rows[0]?.unread };
}

async function createAssignment({ query }: Database, { params, body }: Incoming) {
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

async function updateAssignment({ query }: Database, { params, body }: Incoming) {
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
  config: row.config,
  version: row.version,
  etag: `"${row.version}"`,
  autoRenew: row.auto_renew,
  enabled: row.enabled,
  commonName: row.common_name,
  createdAt: iso(row.created_at),
  updatedAt: iso(row.updated_at),
});

async function ingestMetrics({ query }: Database, { params, body }: Incoming) {
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
async function updateLabels({ transaction }: Database, { params, body }: Incoming) {
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
