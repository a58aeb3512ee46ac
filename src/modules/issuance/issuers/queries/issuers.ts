import type { Values } from "#catalogue/fields";
import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import { arrayOf, type Pool, type Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { describeTaken, hasName, lockNames } from "#db/names";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { matchesVersion } from "#db/versions";
import { EXPERIMENTAL } from "#modules/issuance/dns/rules/providers";
import { noteChange } from "#modules/issuance/issuing/queries";
import { audit, deleteAudited, type Scope } from "#modules/people/audit/queries";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";
import type { IssuerKind } from "../rules/kinds";

/** The JSON of every answer; of the secrets only their names. */
const issuerJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'kind', kind, 'name', name,
  'config', config, 'secretNames', secret_names,
  'experimentalProviders', (
    select coalesce(json_agg(distinct each->>'provider'), '[]') from jsonb_array_elements(coalesce(config->'challenges', '[]')) as each
    where each->>'provider' = any(${arrayOf(EXPERIMENTAL)}::text[])),
  'account', case when account is not null then json_build_object('url', account->'url', 'thumbprint', account->'thumbprint') end, 'retryAt', iso(retry_at),
  'lastTest', case when tested_at is not null then json_build_object('outcome', test_outcome, 'message', test_message, 'testedAt', iso(tested_at)) end,
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

/** The stamped facts of an issuer: who issues, and by the config where its secrets go. */
export const issuerFacts = ({ organizationId, id, kind, config }: Pick<StoredIssuer, "organizationId" | "id" | "kind" | "config">): Facts => [
  "issuer",
  { organizationId, id, kind, config },
];
export const issuerFactsJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'id', id, 'kind', kind, 'config', config)`;

export const UNPROVEN_ISSUER = `The issuer ${UNPROVEN}: delete it and create it again. ${TO_TRUST}`;

/** Newest first; one more than `limit`. */
export async function listIssuers(sql: Sql, organizationId: string, { limit, before }: PageBefore, kind: string | undefined) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${issuerJson(sql)} as json from issuers
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} ${kind ? sql`and kind = ${kind}` : sql``}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findIssuer(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`select ${issuerJson(sql)} as json, version from issuers where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

type Secrets = { names: string[]; sealed: Buffer | null };
export type NewIssuer = { id: string; kind: IssuerKind; name: string; config: Values; secrets: Secrets };

/** Returns the obstacle to an issuer, in the transaction that writes it. */
type FindFault = (tx: Sql) => Promise<{ invalid: string } | { inTheWay: string } | undefined>;

/** In the way is another issuer of the organization that has the name. */
export const createIssuer = (pool: Pool, stamps: Stamps, scope: Scope, { id, kind, name, config, secrets }: NewIssuer, findFault: FindFault) =>
  pool.begin(async (tx) => {
    await lockNames(tx, "issuers", scope.organizationId);
    const fault = await findFault(tx);
    if (fault) return fault;
    const [row] = await tx<Resource[]>`
      with created as (
        insert into issuers (organization_id, id, kind, name, name_key, config, secret_names, sealed_secrets, stamp)
        values (${scope.organizationId}, ${id}, ${kind}, ${name}, name_key(${name}), ${JSON.stringify(config)}::text::jsonb, ${JSON.stringify(secrets.names)}::text::jsonb, ${secrets.sealed}::bytea,
          ${stamps.of(issuerFacts({ organizationId: scope.organizationId, id, kind, config }))}::bytea)
        on conflict do nothing returning *),
      audited as (${audit(tx, scope, "issuer.created", tx`select id, jsonb_build_object('kind', kind, 'name', name) from created`)})
      select ${issuerJson(tx)} as json, version from created`;
    return row ?? { inTheWay: await describeTaken(tx, "issuers", { ...scope, id, name }) };
  });

export type StoredIssuer = {
  organizationId: string;
  id: string;
  kind: IssuerKind;
  name: string;
  config: Values;
  secretNames: string[];
  sealedSecrets: Uint8Array | null;
  account: unknown;
  stamp: Stamp;
  version: number;
};

/** Returns the stored row, with parts that no answer shows; `hold` keeps others from changing it until the transaction ends. */
export async function findStored(sql: Sql, organizationId: string, id: string, hold = false): Promise<StoredIssuer | undefined> {
  const [row] = await sql<StoredIssuer[]>`
    select organization_id as "organizationId", id, kind, name, config, secret_names as "secretNames", sealed_secrets as "sealedSecrets", account, stamp, version
    from issuers where organization_id = ${organizationId} and id = ${id} ${hold ? sql`for update` : sql``}`;
  return row;
}

/** An issuer after a change; `changed` names the new parts, and `secrets` is there when they are among them. */
export type Change = { name: string; config: Values; secrets: Secrets | undefined; changed: string[]; isElsewhere: boolean };
type Decide = (stored: StoredIssuer, tx: Sql) => Promise<Change | { invalid: string } | { inTheWay: string }>;

/** Changes an issuer as `decide` says; in the way is another one that has its new name. A new config or secret makes the last test void. */
export const updateIssuer = (pool: Pool, stamps: Stamps, scope: Scope, { id, versions }: Target, decide: Decide) =>
  pool.begin(async (tx) => {
    await lockNames(tx, "issuers", scope.organizationId);
    return updateLocked(await findStored(tx, scope.organizationId, id, true), versions, async (stored) => {
      if (!stamps.hold(stored.stamp, issuerFacts(stored))) return { inTheWay: UNPROVEN_ISSUER };
      const change = await decide(stored, tx);
      if (!("changed" in change)) return change;
      const stamp = stamps.of(issuerFacts({ ...stored, config: change.config }));
      if (change.changed.includes("config")) await noteChange(tx, scope.organizationId, tx`${id}::uuid`);
      const shown = change.changed.length === 0 ? await findIssuer(tx, scope.organizationId, id) : await writeChange(tx, scope, id, { ...change, stamp });
      return shown ?? { inTheWay: await describeTaken(tx, "issuers", { ...scope, id, name: change.name }) };
    });
  });

async function writeChange(sql: Sql, scope: Scope, id: string, { name, config, secrets, changed, isElsewhere, stamp }: Change & { stamp: Uint8Array }) {
  const isOurs = sql`organization_id = ${scope.organizationId}`;
  const isRenamed = changed.includes("name");
  const isRenamedOnly = changed.every((each) => each === "name");
  const [row] = await sql<Resource[]>`
    with changed as (
      update issuers set config = ${JSON.stringify(config)}::text::jsonb, stamp = ${stamp}::bytea, version = version + 1, updated_at = now()
        ${isRenamed ? sql`, name = ${name}, name_key = name_key(${name})` : sql``}
        ${secrets ? sql`, secret_names = ${JSON.stringify(secrets.names)}::text::jsonb, sealed_secrets = ${secrets.sealed}::bytea` : sql``}
        ${isElsewhere ? sql`, account = null` : sql``}
        ${isRenamedOnly ? sql`` : sql`, failures = 0, retry_at = null, tested_at = null, test_outcome = null, test_message = null`}
      where ${isOurs} and id = ${id} ${isRenamed ? sql`and not exists (select from issuers where ${isOurs} and ${hasName(sql, name)} and id <> ${id})` : sql``}
      returning *),
    audited as (${audit(sql, scope, "issuer.updated", sql`select id, jsonb_build_object('changed', ${JSON.stringify(changed)}::text::jsonb) from changed`)})
    select ${issuerJson(sql)} as json, version from changed`;
  return row;
}

/** In the way is a request that the issuer still works on. */
export const deleteIssuer = (pool: Pool, scope: Scope, target: Target) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const stored = await findStored(tx, organizationId, target.id, true);
    const [open] = await tx<{ id: string }[]>`
      select id from certificate_requests where organization_id = ${organizationId} and issuer_id = ${target.id} and ended_at is null limit 1`;
    if (open && stored && matchesVersion(target.versions, stored.version))
      return { inTheWay: `The certificate request ${open.id} is open at this issuer. Cancel it, or wait until it has ended.` };
    return deleteAudited(tx, scope, target, { table: "issuers", action: "issuer.deleted", details: tx`jsonb_build_object('kind', kind, 'name', name)` });
  });

type Tested = { id: string; version: number; outcome: string; message: string };

/** Keeps what a test found, unless the issuer has become another meanwhile. */
export async function saveTest(sql: Sql, scope: Scope, { id, version, outcome, message }: Tested, now: Date) {
  await sql`
    with tested as (
      update issuers set tested_at = ${now.toISOString()}, test_outcome = ${outcome}, test_message = ${message}
      where organization_id = ${scope.organizationId} and id = ${id} and version = ${version} returning id)
    ${audit(sql, scope, "issuer.tested", sql`select id, jsonb_build_object('outcome', ${outcome}::text) from tested`)}`;
}
