import { X509Certificate } from "node:crypto";
import { arrayOf, type Sql } from "../../db/connect";
import { isSignedBy, type ParsedCertificate } from "./x509/facts";

type Added = ParsedCertificate & { id: string };
type Party = { id: string; x509: X509Certificate };
type Link = { id: string; issuer: string };

/** How many keys of one name are tried: a name that hides more is no chain anybody builds. */
const MAX_KEYS = 8;
const SIGNATURES_BEFORE_A_PAUSE = 100;

/** Points each new certificate to the stored one that signed it, and orphans of earlier imports to the new ones. */
export async function linkChains(sql: Sql, organizationId: string, added: Added[]) {
  const links = [...(await findIssuers(sql, organizationId, added)), ...(await adoptOrphans(sql, organizationId, added))];
  if (links.length > 0)
    await sql`
      update certificates set issuer_id = link.issuer from jsonb_to_recordset(${JSON.stringify(links)}::jsonb) as link (id uuid, issuer uuid)
      where organization_id = ${organizationId} and certificates.id = link.id`;
}

async function findIssuers(sql: Sql, organizationId: string, added: Added[]) {
  const children = added.filter((each) => !each.selfSigned);
  if (children.length === 0) return [];
  const rows = await sql<{ id: string; name: string; pem: string }[]>`
    select id, name, pem from (
      select id, subject_hash as name, pem, row_number() over (partition by subject_hash order by not_after desc, id) as rank from (
        select distinct on (subject_hash, facts->>'spkiSha256') id, subject_hash, pem, not_after from certificates
        where organization_id = ${organizationId} and (is_ca or self_signed) and subject_hash = any(${arrayOf(distinct(children, "issuerHash"))}::text[])
        order by subject_hash, facts->>'spkiSha256', not_after desc, id) keys) ranked
    where rank <= ${MAX_KEYS}`;
  const issuers = Map.groupBy(
    rows.map(({ pem, ...row }) => ({ ...row, x509: new X509Certificate(pem) })),
    (each) => each.name,
  );
  return match(children, (child) => issuers.get(child.issuerHash) ?? []);
}

async function adoptOrphans(sql: Sql, organizationId: string, added: Added[]) {
  const issuers = added.filter((each) => each.isCa || each.selfSigned);
  if (issuers.length === 0) return [];
  const rows = await sql<{ id: string; issuerHash: string; pem: string }[]>`
    select id, issuer_hash as "issuerHash", pem from certificates
    where organization_id = ${organizationId} and issuer_id is null and not self_signed
      and issuer_hash = any(${arrayOf(distinct(issuers, "subjectHash"))}::text[]) and id <> all(${arrayOf(added.map((each) => each.id))}::uuid[])`;
  const byName = Map.groupBy(issuers, (each) => each.subjectHash);
  const orphans = rows.map(({ pem, ...row }) => ({ ...row, x509: new X509Certificate(pem) }));
  return match(orphans, (orphan) => byName.get(orphan.issuerHash)?.slice(0, MAX_KEYS) ?? []);
}

/** The first candidate whose key signed each certificate. It pauses now and then, so that other requests are answered too. */
async function match<Child extends Party>(children: Child[], candidatesOf: (child: Child) => Party[]) {
  const links: Link[] = [];
  let signatures = 0;
  for (const child of children) {
    for (const issuer of candidatesOf(child)) {
      if (issuer.id === child.id) continue;
      if (++signatures % SIGNATURES_BEFORE_A_PAUSE === 0) await Bun.sleep(0);
      if (!isSignedBy(child.x509, issuer.x509)) continue;
      links.push({ id: child.id, issuer: issuer.id });
      break;
    }
  }
  return links;
}

const distinct = <Key extends "issuerHash" | "subjectHash">(certificates: Added[], key: Key) => [...new Set(certificates.map((each) => each[key]))];
