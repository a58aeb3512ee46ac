import type { Fragment, Sql } from "#db/connect";
import type { PageAfter } from "#db/page";
import { searchWords } from "../rules/search-terms";
import type { CertificateFilter } from "../schema/query";
import { certificateJson, isMember, joinFacts, type OfFacts } from "./certificates";

/**
 * A list: of which organization, by which filter, and `range`, which asks the columns that it is ordered by, under the names
 * that a table gives them.
 */
type Wanted = { organizationId: string; filter: CertificateFilter; range: (notAfter: string, id: string) => Fragment };

/** So many certificates are read one by one in a few milliseconds, however few of them fit. */
const FEW = "10000";

/**
 * Lists certificates by expiry, one more than `limit`, which is a plain number for the planner as in `listExpiring`. Each
 * filter has an index in the order of the list.
 */
export async function listCertificates(
  sql: Sql,
  organizationId: string,
  filter: CertificateFilter,
  { limit, after }: PageAfter<readonly [notAfter: string, id: string]>,
  now: Date,
) {
  const range: Wanted["range"] = (notAfter, id) => sql`
    ${after ? sql`and (${sql.text(notAfter)}, ${sql.text(id)}) > (${after[0]}, ${after[1]})` : sql``}
    ${filter.expiresBefore ? sql`and ${sql.text(notAfter)} < ${filter.expiresBefore}` : sql``}
    ${filter.status === "active" ? sql`and ${sql.text(notAfter)} > ${now.toISOString()}` : sql``}
    ${filter.status === "expired" ? sql`and ${sql.text(notAfter)} <= ${now.toISOString()}` : sql``}`;
  const rows = await sql<(OfFacts & { notAfter: string; id: string })[]>`
    select ${certificateJson(sql, now)}, iso(not_after) as "notAfter", id
    from (${find(sql, { organizationId, filter, range })}) as hundred
    order by not_after, id limit ${limit + 1}`;
  return rows.map((row) => ({ json: joinFacts(row), key: [row.notAfter, row.id] }));
}

function find(sql: Sql, wanted: Wanted) {
  const { owner, labels, status, q, issuer, fingerprint, serial } = wanted.filter;
  const byOthers = owner === "none" ? findUnowned(sql, wanted) : findFirst(sql, wanted, whereOwner(sql, wanted.filter));
  if (!labels || labels.needed.length === 0) return byOthers;
  const hasOthers = [owner, q, issuer, fingerprint, serial].some((each) => each !== undefined) || status === "revoked" || status === "retired";
  return sql`
    -- the label that the fewest have
    with rarest as materialized (${findRarest(sql, wanted, labels.needed)})
    ${hasOthers ? sql`select * from (${findLabelled(sql, wanted)}) as by_label where (select found from rarest) < ${sql.text(FEW)}` : findLabelled(sql, wanted)}
    ${hasOthers ? sql`union all select * from (${byOthers}) as by_others where (select found from rarest) = ${sql.text(FEW)}` : sql``}`;
}

const findFirst = (sql: Sql, { organizationId, filter, range }: Wanted, more: Fragment) => sql`
  select * from certificates where organization_id = ${organizationId} ${range("not_after", "id")} ${where(sql, organizationId, filter)} ${more}
  order by not_after, id limit 101`;

const findRarest = (sql: Sql, { organizationId }: Wanted, needed: { key: string; values: string[] }[]) => sql`
  select key, "values", found from jsonb_to_recordset(${JSON.stringify(needed)}::jsonb) as needed (key text, "values" text[]) cross join lateral (
    select count(*) as found from (
      select from certificate_labels as label
      where organization_id = ${organizationId} and label.key = needed.key and label.value = any(needed."values") limit ${sql.text(FEW)}) as capped) as counted
  order by found limit 1`;

/**
 * The first certificates with each value of the rarest label, each read by its id: behind OFFSET 0, because a plan without
 * statistics would read all of them.
 */
const findLabelled = (sql: Sql, { organizationId, filter, range }: Wanted) => sql`
  select found.* from unnest((select "values" from rarest)) as wanted (value) cross join lateral (
    select certificate.* from (
      select not_after as ends, certificate_id from certificate_labels as label
      where organization_id = ${organizationId} and label.key = (select key from rarest) and label.value = wanted.value ${range("not_after", "certificate_id")}
      order by not_after, certificate_id) as labelled
    cross join lateral (
      select * from certificates
      where organization_id = ${organizationId} and id = certificate_id ${where(sql, organizationId, filter)} ${whereOwner(sql, filter)} offset 0) as certificate
    order by ends, certificate_id limit 101) as found
  order by not_after, id limit 101`;

/** Those without an owner, and those of each owner who has left: of each the first. */
const findUnowned = (sql: Sql, wanted: Wanted) => sql`
  -- all owners, each found by the one before in the index
  with recursive owners (id) as (
    (select owner_id from certificates where organization_id = ${wanted.organizationId} and owner_id is not null order by owner_id limit 1)
    union all
    select (select owner_id from certificates where organization_id = ${wanted.organizationId} and owner_id > owners.id order by owner_id limit 1)
    from owners where id is not null),
  -- the first certificates without an owner
  unowned as (${findFirst(sql, wanted, sql`and owner_id is null`)}),
  -- the first certificates of each owner who has left
  left_behind as (
    select found.* from owners cross join lateral (${findFirst(sql, wanted, sql`and owner_id = owners.id`)}) as found
    where not ${isMember(sql, sql`${wanted.organizationId}`, sql`owners.id`)})
  select * from (select * from unowned union all select * from left_behind) as found order by not_after, id limit 101`;

/** Returns the condition for a certificate's owner; `none` finds owners who are no active members. */
function whereOwner(sql: Sql, { owner }: CertificateFilter) {
  if (owner === undefined) return sql``;
  if (owner !== "none") return sql`and owner_id = ${owner}`;
  return sql`and (owner_id is null or not ${isMember(sql, sql`certificates.organization_id`, sql`owner_id`)})`;
}

/** Returns the conditions for a certificate besides its expiry and its owner. */
function where(sql: Sql, organizationId: string, { status, q, labels, issuer, fingerprint, serial }: CertificateFilter) {
  const serialNumber = sql`facts->>'serialNumber'`;
  return sql`
    ${status === "active" || status === "expired" ? sql`and status = 'active'` : sql``}
    ${status === "revoked" || status === "retired" ? sql`and status = ${status} and status <> 'active'` : sql``}
    ${q ? sql`and search @@ ${searchQuery(organizationId, q)}::tsquery` : sql``}
    ${labels ? sql`and labels @@ ${labels.path}::jsonpath` : sql``}
    ${issuer ? sql`and hashtextextended(issuer, 0) = hashtextextended(${issuer}, 0) and issuer = ${issuer}` : sql``}
    ${fingerprint ? sql`and fingerprint_sha256 = ${fingerprint}` : sql``}
    ${serial ? sql`and hashtextextended(${serialNumber}, 0) = hashtextextended(${serial}, 0) and ${serialNumber} = ${serial}` : sql``}`;
}

/** Each word of `q` must begin a word of the certificate's names. */
const searchQuery = (organizationId: string, q: string) => [`'${organizationId}'`, ...searchWords(q).map((word) => `'${word}':*`)].join(" & ");
