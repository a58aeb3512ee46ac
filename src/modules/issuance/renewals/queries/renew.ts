import type { Sql } from "#db/connect";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import type { KeyLocation } from "#modules/issuance/issuing/rules/policy";
import { type RequestProof, requestProofJson } from "#modules/issuance/requests/queries/asked-keys";
import type { KeyFacts } from "#x509/keys";
import type { State } from "../rules/next";

/** A certificate that is to be renewed. */
export type Renewable = {
  status: "active" | "revoked" | "retired";
  isCa: boolean;
  commonName: string;
  fingerprintSha256: string;
  key: KeyFacts;
  alternativeNames: Record<"dns" | "ip" | "email" | "uri", string[]>;
  sealedPrivateKey: Uint8Array | null;
  /** Of the issuer that looks after it; null where none does. */
  issuerId: string | null;
  state: State | null;
  /** The order that its issuer issued it for. */
  template: Template | null;
  /** The proof of that order. */
  templateProof: RequestProof | null;
  /** The request that renews it already. */
  openId: string | null;
  /** The certificate that comes in its place. */
  successorId: string | null;
  /** Its assignments, two at most. */
  places: (Deployment & { agentId: string })[];
};
type Deployment = { applicationId: string; trustStoreType: string; materialType: string; config: object };
type Template = {
  names: Name[];
  keyAlgorithm: string;
  keyLocation: KeyLocation;
  csr: string | null;
  agentId: string | null;
  deployment: Deployment | null;
  profile: string | null;
};

export async function findIssuerOf(sql: Sql, organizationId: string, certificateId: string) {
  const [row] = await sql<{ issuerId: string | null }[]>`
    select renewal.issuer_id as "issuerId" from certificates c left join lateral (
      select w.issuer_id from renewals w join issuers i on i.organization_id = w.organization_id and i.id = w.issuer_id
      where w.organization_id = c.organization_id and w.certificate_id = c.id) as renewal on true
    where c.organization_id = ${organizationId} and c.id = ${certificateId}`;
  return row;
}

/** Finds a certificate, and locks it and its renewal. */
export async function lockRenewable(tx: Sql, organizationId: string, certificateId: string): Promise<Renewable | undefined> {
  await tx`select from certificates where organization_id = ${organizationId} and id = ${certificateId} for no key update`;
  await tx`select from renewals where organization_id = ${organizationId} and certificate_id = ${certificateId} for update`;
  const isOurs = tx`organization_id = c.organization_id`;
  const [row] = await tx<Renewable[]>`
    select c.status, c.is_ca as "isCa", c.common_name as "commonName", c.fingerprint_sha256 as "fingerprintSha256", c.facts->'key' as key, c.facts->'subjectAlternativeNames' as "alternativeNames",
      c.sealed_private_key as "sealedPrivateKey", w.issuer_id as "issuerId", w.state,
      (select jsonb_build_object('names', names, 'keyAlgorithm', key_algorithm, 'keyLocation', key_location, 'csr', encode(csr, 'base64'), 'agentId', agent_id,
        'deployment', deployment, 'profile', profile) from certificate_requests where ${isOurs} and id = w.template_id) as template,
      (select ${requestProofJson(tx)} from certificate_requests r where r.organization_id = c.organization_id and r.id = w.template_id) as "templateProof",
      (select id from certificate_requests where ${isOurs} and replaces = c.id and ended_at is null) as "openId",
      coalesce(w.successor_id, (select certificate_id from certificate_requests where ${isOurs} and id = w.request_id), (
        select certificate_id from rollouts where ${isOurs} and predecessor_id = c.id and rollouts.status in ('running', 'halted', 'completed'))) as "successorId",
      (select coalesce(jsonb_agg(jsonb_build_object('agentId', agent_id, 'applicationId', application_id, 'trustStoreType', trust_store_type, 'materialType', material_type,
        'config', config)), '[]') from (select * from assignments where ${isOurs} and certificate_id = c.id and removing_since is null limit 2) as place) as places
    from certificates c left join renewals w on w.organization_id = c.organization_id and w.certificate_id = c.id
    where c.organization_id = ${organizationId} and c.id = ${certificateId}`;
  return row;
}

type SuccessorRequest = { certificateId: string; issuerId: string; requestId: string };

/** Notes that a person ordered the successor. Where no issuer looks after the certificate, this one does from now on. */
export async function saveRequested(tx: Sql, organizationId: string, { certificateId, issuerId, requestId }: SuccessorRequest) {
  await tx`
    insert into renewals (organization_id, certificate_id, issuer_id, template_id, state, request_id, renew_at, late_at, look_at)
    select organization_id, id, ${issuerId}, ${requestId}, 'ordered', ${requestId}, now(), now(), now() from certificates where organization_id = ${organizationId} and id = ${certificateId}
    on conflict (organization_id, certificate_id) do update set state = 'ordered', request_id = excluded.request_id, retry_at = null, look_at = now(), updated_at = now(),
      issuer_id = case when renewals.state = 'ended' then excluded.issuer_id else renewals.issuer_id end,
      template_id = case when renewals.state = 'ended' then excluded.template_id else renewals.template_id end`;
}

/** Gives a request a key that is there already. */
export async function saveKey(
  tx: Sql,
  organizationId: string,
  requestId: string,
  { csr, sealedPrivateKey }: { csr: Uint8Array; sealedPrivateKey: Uint8Array },
) {
  await tx`
    update certificate_requests set csr = ${csr}::bytea, sealed_private_key = ${sealedPrivateKey}::bytea where organization_id = ${organizationId} and id = ${requestId}`;
}
