import { endorsementOf } from "#crypto/agent-messages";
import { generateKeyPair, readPrivateKey, signText } from "#crypto/ed25519";
import type { Keyring } from "#crypto/keyring";
import type { Pool, Sql } from "#db/connect";
import { lockOrganization } from "#db/locks";
import type { PageBefore } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";

/** How many generations an organization may have: an agent that comes back reads all of them. */
const MAX_GENERATIONS = 1_000;

type Current = { id: string; generation: number; publicKey: string; sealed: Uint8Array };

/** Returns the context that a private key is bound to: it opens for no other organization, row or public key. */
const context = (organizationId: string, id: string, publicKey: string) => `signing-key ${organizationId} ${id} ${publicKey}`;

/** The columns that every answer shows, as json text. */
const signingKeyJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'generation', generation, 'publicKey', public_key,
  'endorsement', endorsement, 'createdBy', created_by, 'createdAt', iso(created_at))::text`;

/** Part of a statement: the public key that signs for the organization of `agent`, null where there is none yet. */
export const currentKeyOf = (sql: Sql) => sql`(
  select public_key from signing_keys where signing_keys.organization_id = agent.organization_id order by generation desc limit 1)`;

/** Returns the key that signs now, made first where the organization has none. */
export async function openSigningKey(sql: Pool, keyring: Keyring, organizationId: string) {
  const { id, publicKey, sealed } = (await findCurrent(sql, organizationId)) ?? (await createFirst(sql, keyring, organizationId));
  return { publicKey, key: readPrivateKey(keyring.unseal(sealed, context(organizationId, id, publicKey))) };
}

async function findCurrent(sql: Sql, organizationId: string) {
  const [current] = await sql<Current[]>`
    select id, generation, public_key as "publicKey", sealed_private_key as sealed from signing_keys
    where organization_id = ${organizationId} order by generation desc limit 1`;
  return current;
}

/** Of several at once the one that locks the organization first makes it, and the others read that. */
async function createFirst(sql: Pool, keyring: Keyring, organizationId: string): Promise<Current> {
  const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
  return sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const known = await findCurrent(tx, organizationId);
    if (known) return known;
    await insertKey(tx, keyring, scope, undefined);
    const made = await findCurrent(tx, organizationId);
    if (!made) throw new Error("a signing key was not created");
    return made;
  });
}

/**
 * Makes the next generation, which the one before endorses, so that agents follow; the private key of the one before is erased. Returns
 * `conflict` when there are as many generations as there may be.
 */
export async function rotateSigningKey(sql: Pool, keyring: Keyring, scope: Scope) {
  const { organizationId } = scope;
  return sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const current = await findCurrent(tx, organizationId);
    if (current && current.generation >= MAX_GENERATIONS) return "conflict";
    const made = await insertKey(tx, keyring, scope, current);
    await tx`
      update signing_keys set sealed_private_key = null
      where organization_id = ${organizationId} and generation < ${made.generation} and sealed_private_key is not null`;
    return made;
  });
}

async function insertKey(tx: Sql, keyring: Keyring, scope: Scope, before: Current | undefined) {
  const { organizationId } = scope;
  const id = Bun.randomUUIDv7();
  const generation = (before?.generation ?? 0) + 1;
  const { publicKey, privateKey } = generateKeyPair();
  const sealed = keyring.seal(privateKey, context(organizationId, id, publicKey)).toString("hex");
  const endorsement = before
    ? signText(endorsementOf(organizationId, publicKey), readPrivateKey(keyring.unseal(before.sealed, context(organizationId, before.id, before.publicKey))))
    : null;
  const [row] = await tx<{ json: string }[]>`
    with created as (
      insert into signing_keys (organization_id, id, generation, public_key, sealed_private_key, endorsement, created_by)
      values (${organizationId}, ${id}, ${generation}, ${publicKey}, decode(${sealed}, 'hex'), ${endorsement}, ${JSON.stringify(scope.actor)}::jsonb) returning *),
    audited as (${audit(tx, scope, "signing-key.created", tx`select id, jsonb_build_object('generation', generation, 'publicKey', public_key) from created`)})
    select ${signingKeyJson(tx)} as json from created`;
  if (!row) throw new Error("a signing key was not created");
  return { id, generation, json: row.json };
}

/** All of them, the newest first, one more than `limit`. */
export async function listSigningKeys(sql: Sql, organizationId: string, { limit, before = MAX_GENERATIONS + 1 }: PageBefore<number>) {
  const rows = await sql<{ generation: number; json: string }[]>`
    select generation, ${signingKeyJson(sql)} as json from signing_keys
    where organization_id = ${organizationId} and generation < ${before} order by generation desc limit ${limit + 1}`;
  return rows.map(({ generation, json }) => ({ json, key: [String(generation)] }));
}

/** The successors of a key, the oldest first, each endorsed by the one before; none where the organization never had it. */
export async function listSuccessors(sql: Sql, organizationId: string, publicKey: string) {
  const rows = await sql<{ publicKey: string; endorsement: string }[]>`
    select next.public_key as "publicKey", next.endorsement from signing_keys known
    join signing_keys next on next.organization_id = known.organization_id and next.generation > known.generation
    where known.organization_id = ${organizationId} and known.public_key = ${publicKey} order by next.generation`;
  return { items: [...rows] };
}
