import { arrayOf, type Fragment, type Pool, type Sql } from "#db/connect";
import type { PageAfter } from "#db/page";
import { type Act, audit, auditForPlatform, type Scope } from "#modules/people/audit/queries";
import type { Standing } from "./rules";

/** How an organization stands to a domain, as json. */
export const standingJson = (sql: Sql, organizationId: Fragment, domain: Fragment) => sql`json_build_object('organizationId', ${organizationId},
  'isAlone', not exists (select from organizations where id <> ${organizationId}),
  'holder', (select json_build_object('organizationId', h.organization_id, 'isDecided', h.until is null) from domain_holders h
    where h.domain = ${domain} and (h.until is null or h.until > now())))`;

export async function findStanding(sql: Sql, organizationId: string, domain: string) {
  const [row] = await sql<{ standing: Standing }[]>`select ${standingJson(sql, sql`${organizationId}::uuid`, sql`${domain}::text`)} as standing`;
  if (!row) throw new Error("the database answered no row");
  return row.standing;
}

/** Returns those of these domains for which staff has named no organization; undefined where the server has one organization at most. */
export async function findUnnamed(sql: Sql, domains: string[]) {
  const [row] = await sql<{ isShared: boolean; unnamed: string[] }[]>`
    select (select count(*) from (select from organizations limit 2) as two) > 1 as "isShared",
      to_jsonb(array(select domain from unnest(${arrayOf(domains)}::text[]) as domain
        where not exists (select from domain_holders h where h.domain = domain.domain and h.until is null and h.organization_id is not null))) as unnamed`;
  return row?.isShared ? row.unnamed : undefined;
}

type Claim = { domains: string[]; provenByDns: string[]; until: Date };

/**
 * Gives an organization the free domains of a certificate. A domain of another organization moves only by a DNS proof of the
 * domain itself; the staff's decisions stay.
 */
export async function claimDomains(tx: Sql, scope: Scope, { domains, provenByDns, until }: Claim) {
  const { organizationId } = scope;
  const moved = await tx<{ former: string; domain: string }[]>`
    with before as (select domain, organization_id, until from domain_holders where domain = any(${arrayOf(domains)}::text[])),
    claimed as (
      insert into domain_holders as h (domain, organization_id, until)
      select domain, ${organizationId}::uuid, ${until.toISOString()}::timestamptz from unnest(${arrayOf(domains)}::text[]) as domain order by domain
      on conflict (domain) do update set organization_id = excluded.organization_id, updated_at = now(),
        until = case when h.organization_id = excluded.organization_id then greatest(h.until, excluded.until) else excluded.until end
      where h.until is not null and (h.organization_id = excluded.organization_id or h.until < now() or h.domain = any(${arrayOf(provenByDns)}::text[]))
      returning domain),
    news as (
      select domain, before.organization_id as former from claimed left join before using (domain) where before.organization_id is distinct from ${organizationId}::uuid),
    audited as (${audit(tx, scope, "domain.claimed", tx`select domain, '{}'::jsonb from news`)})
    select news.domain, former from news join before using (domain) where before.until > now()`;
  for (const { former, domain } of moved) await noteLoss(tx, { ...scope, organizationId: former }, domain, "Another organization has proven it over DNS.");
}

const noteLoss = (sql: Sql, former: Scope, domain: string, reason: string) =>
  sql`${audit(sql, former, "domain.lost", sql`select ${domain}::text, jsonb_build_object('reason', ${reason}::text)`)}`;

const domainJson = (sql: Sql) =>
  sql`json_build_object('domain', domain, 'organizationId', organization_id, 'until', iso(until), 'updatedAt', iso(updated_at))::text`;

/** In the order of the alphabet; one more than `limit`. */
export async function listDomains(sql: Sql, { limit, after }: PageAfter) {
  const rows = await sql<{ domain: string; json: string }[]>`
    select domain, ${domainJson(sql)} as json from domain_holders where domain > ${after ?? ""} order by domain limit ${limit + 1}`;
  return rows.map(({ domain, json }) => ({ json, key: [domain] }));
}

/** Decides which organization has a domain; null: any may prove its names. */
export const putDomain = (pool: Pool, by: Act, domain: string, organizationId: string | null) =>
  pool.begin(async (tx) => {
    const decided = tx`select domain, jsonb_build_object('organizationId', organization_id) from decided`;
    const [row] = await tx<{ json: string; former: string | null }[]>`
      with before as (select organization_id from domain_holders where domain = ${domain} and (until is null or until > now())),
      decided as (
        insert into domain_holders (domain, organization_id, until) values (${domain}, ${organizationId}::uuid, null)
        on conflict (domain) do update set organization_id = excluded.organization_id, until = null, updated_at = now() returning *),
      audited as (${organizationId === null ? tx`select` : audit(tx, { ...by, organizationId }, "domain.decided", decided)}),
      audited_for_platform as (${auditForPlatform(tx, by, "domain.decided", decided)})
      select ${domainJson(tx)} as json, (select organization_id from before) as former from decided`;
    if (!row) throw new Error("a domain was not decided on");
    const { json, former } = row;
    if (former !== null && former !== organizationId) await noteLoss(tx, { ...by, organizationId: former }, domain, "The platform's staff has decided so.");
    return json;
  });
