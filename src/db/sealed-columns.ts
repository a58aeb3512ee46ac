/** A column of sealed values, with the UUIDs that find its row by a unique index, and what its values are bound to. */
export type SealedColumn = { table: string; column: string; uniqueKey: string[]; purpose: string; boundTo: string[] };

/** Every column that holds sealed values. A test asks of each bytea column of the schema whether it belongs here. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    table: "certificates",
    column: "sealed_private_key",
    uniqueKey: ["organization_id", "id"],
    purpose: "certificate-key",
    boundTo: ["organization_id", "fingerprint_sha256"],
  },
  {
    table: "connections",
    column: "sealed_secrets",
    uniqueKey: ["organization_id", "id"],
    purpose: "connection-secrets",
    boundTo: ["organization_id", "id"],
  },
  {
    table: "ingest_keys",
    column: "sealed_key",
    uniqueKey: ["organization_id", "id"],
    purpose: "ingest-key",
    boundTo: ["organization_id", "id"],
  },
  {
    table: "signing_keys",
    column: "sealed_private_key",
    uniqueKey: ["organization_id", "id"],
    purpose: "signing-key",
    boundTo: ["organization_id", "id", "public_key"],
  },
  {
    table: "authorities",
    column: "sealed_private_key",
    uniqueKey: ["organization_id", "id"],
    purpose: "authority-key",
    boundTo: ["organization_id", "id", "public_key"],
  },
  {
    table: "authority_publications",
    column: "sealed_responder_key",
    uniqueKey: ["organization_id", "authority_id"],
    purpose: "ocsp-responder-key",
    boundTo: ["organization_id", "authority_id"],
  },
  {
    table: "issuers",
    column: "sealed_secrets",
    uniqueKey: ["organization_id", "id"],
    purpose: "issuer-secrets",
    boundTo: ["organization_id", "id"],
  },
  {
    table: "certificate_requests",
    column: "sealed_private_key",
    uniqueKey: ["organization_id", "id"],
    purpose: "request-key",
    boundTo: ["organization_id", "id"],
  },
  {
    table: "idempotency_keys",
    column: "answer",
    uniqueKey: ["claim_id"],
    purpose: "idempotency-key",
    boundTo: ["claim_id"],
  },
  {
    table: "mails",
    column: "sealed_content",
    uniqueKey: ["id"],
    purpose: "mail",
    boundTo: ["id"],
  },
];

/** Returns the context in which the value of `row` was sealed. */
export const contextOf = ({ purpose, boundTo }: Pick<SealedColumn, "purpose" | "boundTo">, row: Record<string, unknown>) =>
  [purpose, ...boundTo.map((name) => row[name])].join(" ");
