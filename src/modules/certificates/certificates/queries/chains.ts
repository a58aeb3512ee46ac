import { type KeyObject, X509Certificate } from "node:crypto";
import { arrayOf, type Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { createPause } from "#runtime/slices";
import { isSignedBy, type ParsedCertificate, publicKeyOf } from "#x509/facts";
import { readKeyIdentifiers } from "#x509/key-identifiers";

type Link = { id: string; fingerprint: string; signer: string };
type Issuer = { id: string; name: string; spki: string; key: KeyObject | undefined; keyId: string | undefined };
type Part = { id: string; fingerprint: string; name: string; spki: string; isIssuer: boolean; issuerHash: string; pem: string | null };

const PAGE = 100;
const NAMES_AT_ONCE = 20;
/**
 * Limits in ms, for one page, of the time spent on keys that did not sign: after `any` only the likeliest key of each certificate is tried,
 * after `likeliest` none.
 */
const MAX_MISSED = { any: 2_000, likeliest: 20_000 };

// Statements that look up many certificates of one organization do so row by row, behind OFFSET 0: the planner takes an organization
// that its statistics do not know for empty, and would read all of it instead.

/**
 * Links certificates to their stored issuers, both ways, until `signal` is aborted, when it throws. It reads after the commit,
 * so that of two concurrent imports the later finds the earlier.
 */
export async function linkChains(sql: Sql, organizationId: string, ids: string[], signal: AbortSignal) {
  const linker = createLinker(sql, organizationId, signal);
  for (let start = 0; start < ids.length; start += PAGE) {
    const page = ids.slice(start, start + PAGE);
    await linker.link(page);
    await sql`
      delete from pending_links where (organization_id, certificate_id) in (
        select (each->>0)::uuid, (each->>1)::uuid from jsonb_array_elements(${JSON.stringify(page.map((id) => [organizationId, id]))}::jsonb) as each)`;
  }
}

/** The stored issuers of certificates that are about to be stored. A child that is stored with its issuer need not be written again. */
export const findSigners = (sql: Sql, organizationId: string, leaves: ParsedCertificate[], signal: AbortSignal) =>
  createLinker(sql, organizationId, signal).findSigners(leaves);

/** Claims pending certificates for one minute, so that other servers skip them. If this server dies, another one takes them after that. */
export const takePendingLinks = (sql: Sql) => sql<{ organizationId: string; ids: string[] }[]>`
  with taken as (
    update pending_links set due_at = now() + interval '1 minute' where (organization_id, certificate_id) in (
      select organization_id, certificate_id from pending_links where due_at <= now() order by due_at limit 100 for update skip locked)
    returning organization_id, certificate_id)
  select organization_id as "organizationId", json_agg(certificate_id) as ids from taken group by organization_id`;

function createLinker(sql: Sql, organizationId: string, signal: AbortSignal) {
  const pause = createPause();
  const known = new Map<string, Issuer[]>();
  let missed = 0;

  async function link(ids: string[]) {
    missed = 0;
    const parts = await readParts(ids);
    await learn(parts.filter((each) => each.pem !== null).map((each) => each.issuerHash));
    await match(parts, (child) => known.get(child.issuerHash) ?? []);
    await adoptOrphans(parts.filter((each) => each.isIssuer));
  }

  /** `pem` is null where no issuer is to be looked for. */
  const readParts = (ids: string[]) => sql<Part[]>`
    select part.* from unnest(${arrayOf(ids)}::uuid[]) as given (id) cross join lateral (
      select id, fingerprint_sha256 as fingerprint, subject_hash as name, facts->>'spkiSha256' as spki, is_ca or self_signed as "isIssuer",
        issuer_hash as "issuerHash", case when issuer_id is null and not self_signed then pem end as pem
      from certificates where organization_id = ${organizationId} and certificates.id = given.id offset 0) as part`;

  /** Offers the issuers to every certificate of their names that has none, whenever it was stored. */
  async function adoptOrphans(issuers: Part[]) {
    if (issuers.length === 0) return;
    const names = await sql<{ name: string }[]>`
      select name from unnest(${arrayOf([...new Set(issuers.map((each) => each.name))])}::text[]) as name where exists (
        select from certificates where organization_id = ${organizationId} and issuer_hash = name and issuer_id is null and not self_signed)`;
    await learn(names.map((each) => each.name));
    for (const { name } of names) {
      const keys = new Set(issuers.filter((each) => each.name === name).map((each) => each.spki));
      const candidates = known.get(name)?.filter((each) => keys.has(each.spki)) ?? [];
      for (let last: string | undefined = MIN_UUID; last !== undefined && candidates.length > 0; ) last = await adoptSome(name, candidates, last);
    }
  }

  /**
   * Returns the id of the last orphan of this page, undefined when there are no more. Each page reads all orphans to sort them, hence the
   * large limit.
   */
  async function adoptSome(name: string, candidates: Issuer[], after: string) {
    const orphans = await sql<{ id: string }[]>`
      select id from certificates
      where organization_id = ${organizationId} and issuer_hash = ${name} and issuer_id is null and not self_signed and id > ${after}
      order by id limit 10000`;
    const ids = orphans.map((each) => each.id);
    for (let start = 0; start < ids.length; start += PAGE) await match(await readParts(ids.slice(start, start + PAGE)), () => candidates);
    return ids.at(-1);
  }

  async function learn(names: string[]) {
    const unknown = [...new Set(names)].filter((each) => !known.has(each));
    for (let start = 0; start < unknown.length; start += NAMES_AT_ONCE) await readIssuers(unknown.slice(start, start + NAMES_AT_ONCE));
  }

  /** Of each key the certificate that is valid longest, of each name at most 256 keys. */
  async function readIssuers(names: string[]) {
    const rows = await sql<{ id: string; name: string; spki: string; pem: string }[]>`
      select name, issuer.* from unnest(${arrayOf(names)}::text[]) as name cross join lateral (
        select id, spki, pem from (
          select distinct on (spki) id, spki, pem, not_after from (
            select id, facts->>'spkiSha256' as spki, pem, not_after from certificates
            where organization_id = ${organizationId} and subject_hash = name and (is_ca or self_signed)
            order by not_after desc nulls last, id limit 1000) as longest
          order by spki, not_after desc, id) as of_each_key
        order by not_after desc, id limit 256) as issuer`;
    for (const name of names) known.set(name, []);
    for (const { pem, ...row } of rows) {
      await pause();
      const x509 = new X509Certificate(pem);
      known.get(row.name)?.push({ ...row, key: publicKeyOf(x509), keyId: readKeyIdentifiers(x509.raw).subject });
    }
  }

  /** Stores an issuer for each certificate without one: the first candidate that signed it. */
  async function match(children: Part[], candidatesOf: (child: Part) => Issuer[]) {
    const links: Link[] = [];
    for (const child of children) {
      const candidates = candidatesOf(child);
      if (child.pem === null || candidates.length === 0) continue;
      const signer = await findSigner({ id: child.id, x509: new X509Certificate(child.pem) }, candidates);
      if (signer) links.push({ id: child.id, fingerprint: child.fingerprint, signer });
    }
    if (links.length > 0) await saveLinks(links);
  }

  function triesLeft() {
    if (missed < MAX_MISSED.any) return;
    return missed < MAX_MISSED.likeliest ? 1 : 0;
  }

  async function findSigner({ id, x509 }: { id?: string; x509: X509Certificate }, candidates: Issuer[]) {
    for (const issuer of likeliestFirst(x509, candidates).slice(0, triesLeft())) {
      await pause();
      signal.throwIfAborted();
      const startedAt = performance.now();
      if (issuer.id !== id && isSignedBy(x509, issuer.key)) return issuer.id;
      missed += performance.now() - startedAt;
    }
  }

  /** Locked in the order in which an import locks them, so that the two never wait for each other. */
  const saveLinks = (links: Link[]) => sql`
    with locked as materialized (
      select child.*, signer
      from (select * from jsonb_to_recordset(${JSON.stringify(links)}::jsonb) as link (id uuid, fingerprint text, signer uuid) order by fingerprint) as link
      cross join lateral (
        select organization_id, id, issuer_id from certificates
        where organization_id = ${organizationId} and certificates.id = link.id offset 0 for no key update) as child
      where child.issuer_id is null)
    update certificates set issuer_id = signer from locked
    where certificates.organization_id = locked.organization_id and certificates.id = locked.id`;

  async function findSigners(leaves: ParsedCertificate[]) {
    const signers = new Map<ParsedCertificate, string>();
    await learn(leaves.map((each) => each.issuerHash));
    for (const leaf of leaves) {
      const signer = await findSigner(leaf, known.get(leaf.issuerHash) ?? []);
      if (signer) signers.set(leaf, signer);
    }
    return signers;
  }

  return { link, findSigners };
}

/** A key identifier is only a hint: a certificate may have none, and issuers of one key may name it differently. */
function likeliestFirst(child: X509Certificate, candidates: Issuer[]) {
  if (candidates.length < 2) return candidates;
  const { authority } = readKeyIdentifiers(child.raw);
  if (authority === undefined) return candidates;
  const { true: likely = [], false: others = [] } = Object.groupBy(candidates, (each) => `${each.keyId === authority}`);
  return [...likely, ...others];
}
