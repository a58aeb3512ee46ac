import { type DatabaseRow, type Incoming, iso, type Query } from "./work";

const daysUntil = (time: unknown) => Math.floor((Number(time) - Date.now()) / 86_400_000);

export async function listExpiring(query: Query, { params, search }: Incoming) {
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

export async function findCertificate(query: Query, { params, userId }: Incoming) {
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
    ...(certificate.facts as DatabaseRow),
    ...describeCertificate(certificate),
    organizationId,
    ownerId: certificate.owner_id,
    contacts: certificate.contacts,
    labels: certificate.labels,
    notes: certificate.notes,
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

const describeCertificate = (row: DatabaseRow) => ({
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

const describeDeployment = (row: DatabaseRow) => ({
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
  observedAt: iso(row.observed_at),
  history: [],
});

export async function readInbox(query: Query, { userId, search }: Incoming) {
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
    link: row.link,
    state: row.state,
    example: row.example,
    readAt: iso(row.read_at ?? (Number(row.position) <= Number(row.read_up_to) ? row.read_up_to_at : null)),
    createdAt: iso(row.created_at),
  }));
  return { items, page, limit, total: rows[0]?.total, unread: rows[0]?.unread };
}
