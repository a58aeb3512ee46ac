import { createCipheriv, randomBytes } from "node:crypto";
import type { Config } from "#config";
import { type Keyring, keyIdOf } from "#crypto/keyring";
import { sha256 } from "#crypto/sha256";
import { createStamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { claimFacts } from "#db/idempotency-keys";
import { contextOf, SEALED_COLUMNS } from "#db/sealed-columns";
import { createKeyMaker } from "#limits/key-maker";
import { enqueueMail } from "#mail/outbox";
import { importCertificates } from "#modules/certificates/certificates/services/import";
import { createConnection } from "#modules/core/connections/queries";
import { sealSecrets } from "#modules/core/connectors/services/secrets";
import { openSigningKey } from "#modules/fleet/signing-keys/queries";
import { createIngestKey } from "#modules/governance/ingest-keys/queries";
import { createAuthority } from "#modules/issuance/authorities/services/create";
import { createIssuer } from "#modules/issuance/issuers/queries/issuers";
import { sealSecrets as sealIssuerSecrets } from "#modules/issuance/issuers/services/secrets";
import { openLocked } from "#modules/issuance/pki/services/responder";
import { stampRequest } from "#modules/issuance/requests/queries/asked-keys";
import type { Scope } from "#modules/people/audit/queries";
import { createOrganization } from "#modules/people/organizations/queries";
import { certificate } from "../pki/certificates";

const by = { actor: { type: "command-line" as const }, requestId: null };

/** As releases sealed that knew one key only: nonce, ciphertext, tag. */
export function sealUnmarked(key: Uint8Array, secret: string, context: string) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** Makes an organization with one sealed value of each kind. */
export async function addSecrets(sql: Pool, keyring: Keyring) {
  const organizationId = Bun.randomUUIDv7();
  const scope = { ...by, organizationId };
  await createOrganization(sql, { id: organizationId, name: "Secrets" }, by);
  const { pem, privateKey } = certificate();
  await importCertificates(sql, { keyring, stamps: createStamps(keyring) }, scope, {
    pem,
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  });
  await addConnection(sql, keyring, organizationId);
  await addIssuer(sql, keyring, organizationId);
  await createIngestKey(sql, keyring, scope, "Collectors");
  await openSigningKey(sql, keyring, organizationId);
  await addAuthority(sql, keyring, scope);
  await addAnswer(sql, keyring);
  await addMail(sql, keyring, organizationId);
  return scope;
}

/** An authority, and who answers OCSP requests for it. */
async function addAuthority(sql: Pool, keyring: Keyring, scope: Scope) {
  const deps = { sql, config: { keyring } as Config, stamps: createStamps(keyring), clock: () => new Date(), keyMaker: createKeyMaker() };
  const place = { at: "http://localhost", signal: new AbortController().signal };
  const root = await createAuthority(deps, scope, { kind: "root", name: "Root", subject: { commonName: "Root" } }, place);
  if (!("id" in root)) throw new Error("the authority was not created");
  await sql.begin((tx) => openLocked(deps, tx, root.id));
}

export async function addConnection(sql: Pool, keyring: Keyring, organizationId: string) {
  const id = Bun.randomUUIDv7();
  const row = { id, kind: "github", name: id, config: {}, secretNames: ["token"], sealedSecrets: sealSecrets(keyring, { token: id }, { organizationId, id }) };
  await createConnection(sql, createStamps(keyring), { ...by, organizationId }, row);
  return id;
}

/** An issuer, and a request with a key of the server's. */
async function addIssuer(sql: Pool, keyring: Keyring, organizationId: string) {
  const id = Bun.randomUUIDv7();
  const sealed = sealIssuerSecrets(keyring, { accountKeyPem: id }, { organizationId, id });
  await sql`
    insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, sealed_private_key, auto_renew, created_by, search)
    values (${organizationId}, ${id}, ${id}, '[]', ${id}, 'ecdsa-p256', 'server', ${keyring.seal(id, `request-key ${organizationId} ${id}`)}::bytea, true, '{}', '')`;
  const stamps = createStamps(keyring);
  await stampRequest(sql, stamps, organizationId, id);
  const issuer = { id, kind: "acme" as const, name: id, config: {}, secrets: { names: ["accountKeyPem"], sealed } };
  await createIssuer(sql, stamps, { ...by, organizationId }, issuer, async () => undefined);
}

/** A mail that waits, as an invitation's does; no job sends it. */
async function addMail(sql: Pool, keyring: Keyring, organizationId: string) {
  const cause = { kind: "invitation" as const, organizationId, memberId: crypto.randomUUID() };
  const mail = { to: { name: "", address: "ada@example.org" }, subject: crypto.randomUUID(), body: [] };
  const queue = { sendMany: async () => {} };
  await enqueueMail(sql, { keyring, queue }, { id: Bun.randomUUIDv7(), cause, mail, expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
}

/** The answer to a request with an Idempotency-Key. */
async function addAnswer(sql: Pool, keyring: Keyring) {
  const [caller, claimId] = [crypto.randomUUID(), crypto.randomUUID()];
  const answer = keyring.seal(JSON.stringify({ status: 201, headers: [], body: caller }), `idempotency-key ${claimId}`).toString("hex");
  const hash = sha256(caller);
  const stamp = createStamps(keyring).of(claimFacts({ caller, keyHash: hash, bodyHash: hash, claimId }));
  await sql`insert into idempotency_keys (caller, key_hash, body_hash, claim_id, stamp, is_done, answer)
    values (${caller}, decode(${hash}, 'hex'), decode(${hash}, 'hex'), ${claimId}, ${stamp}::bytea, true, decode(${answer}, 'hex'))`;
}

/** Every sealed value of the database: its secret where the ring opens it, and the key that it names. */
export async function readSecrets(sql: Pool, keyring: Keyring) {
  const found: { table: string; secret: string | undefined; keyId: string | undefined }[] = [];
  for (const column of SEALED_COLUMNS)
    for (const row of await sql.unsafe(`select *, ${column.column} as value from ${column.table} where ${column.column} is not null`))
      found.push({ table: column.table, secret: keyring.tryOpen(row.value, contextOf(column, row))?.secret, keyId: keyIdOf(row.value) });
  return found.toSorted((one, other) => `${one.table} ${one.secret}`.localeCompare(`${other.table} ${other.secret}`));
}

/** Seals every value again as a release did that knew one key only. */
export async function unmark(sql: Pool, keyring: Keyring, key: Uint8Array) {
  for (const column of SEALED_COLUMNS)
    for (const row of await sql.unsafe(`select *, ${column.column} as value from ${column.table} where ${column.column} is not null`)) {
      const context = contextOf(column, row);
      const sealed = sealUnmarked(key, keyring.unseal(row.value, context), context).toString("hex");
      const where = column.uniqueKey
        .map((name) => `${name}::text = '${typeof row[name] === "string" ? row[name] : `\\x${Buffer.from(row[name]).toString("hex")}`}'`)
        .join(" and ");
      await sql.unsafe(`update ${column.table} set ${column.column} = decode('${sealed}', 'hex') where ${where}`);
    }
}
