import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import type { Signer } from "#modules/issuance/authorities/services/certificates";
import { sign, signatureOf } from "#modules/issuance/authorities/services/keys";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { createPause } from "#runtime/slices";
import { bits, integer, octets, oid, sequence, tagged, time } from "#x509/der-writer";
import { encodeReason } from "#x509/revocation-reasons";
import { findPublication, type Publication, saveCrl } from "../queries";
import { earlier, openAuthority, scopeOf } from "./authority";
import { type Entry, listEntries } from "./crl-entries";

const HOUR_MS = 3_600_000;
/** How long a CRL counts, and after how long the next one is signed. */
const LIFE_MS = 7 * 24 * HOUR_MS;
const EVERY_MS = 24 * HOUR_MS;

type Crl = { der: Uint8Array; nextUpdate: Date };

/** The CRL of an authority; where it is due, it is signed first. Undefined where there is no such authority. */
export async function currentCrl(deps: IssuingDeps & Pick<Deps, "clockCheck">, authorityId: string): Promise<Crl | undefined> {
  const published = await findPublication(deps.sql, authorityId);
  if (!published || !isCrlDue(published, deps.clock())) return published && crlOf(published);
  if (published.crl && !(await deps.clockCheck.agrees())) return crlOf(published); // one of a wrong time would be worse than the last one
  const ours = renewing.getOrInsertComputed(deps.sql, () => new Map());
  return ours.getOrInsertComputed(authorityId, () => renewDue(deps, authorityId).finally(() => ours.delete(authorityId)));
}

/** CRLs that are being signed, by database: further callers wait for the same one, and take no connection from others. */
const renewing = new WeakMap<IssuingDeps["sql"], Map<string, Promise<Crl | undefined>>>();

const renewDue = (deps: IssuingDeps, authorityId: string) =>
  deps.sql.begin(async (tx) => {
    const locked = await findPublication(tx, authorityId, "wait");
    return locked && (isCrlDue(locked, deps.clock()) ? renewCrl(deps, tx, locked) : crlOf(locked));
  });

export const isCrlDue = ({ crl, crlDueAt, notAfter }: Publication, now: Date) => notAfter > now && (!crl || (crlDueAt !== null && crlDueAt <= now));

const crlOf = ({ crl, crlNextUpdate }: Publication) => (crl && crlNextUpdate ? { der: crl, nextUpdate: crlNextUpdate } : undefined);

/** Signs the next CRL of a publication that is held. */
export async function renewCrl(deps: IssuingDeps, tx: Sql, published: Publication): Promise<Crl> {
  const signedAt = deps.clock();
  const nextUpdate = earlier(new Date(signedAt.getTime() + LIFE_MS), published.notAfter);
  const dueAt = earlier(new Date(signedAt.getTime() + EVERY_MS), new Date((signedAt.getTime() + nextUpdate.getTime()) / 2));
  const number = published.crlNumber + 1;
  const signer = await openAuthority(tx, deps, published);
  const entries = await listEntries(tx, deps.stamps, signer, published, new Date(signedAt.getTime() - LIFE_MS), signedAt);
  const der = await signCrl(signer, { number, thisUpdate: signedAt, nextUpdate, entries });
  await saveCrl(tx, scopeOf(published), published.authorityId, { der, number, entries: entries.length, signedAt, nextUpdate, dueAt });
  return { der, nextUpdate };
}

type Content = { number: number; thisUpdate: Date; nextUpdate: Date; entries: readonly Entry[] };

/**
 * Signs a CRL in DER (RFC 5280, 5), in slices. The library's generator compares each entry with all before it, which blocks the
 * event loop for minutes at 100,000 entries.
 */
export async function signCrl({ key, subject, keyId }: Signer, { number, thisUpdate, nextUpdate, entries }: Content) {
  const { identifier } = signatureOf(key);
  const revoked = await encodeEntries(entries);
  const authorityKeyId = sequence(tagged(0x80, Buffer.from(keyId, "hex")));
  const toBeSigned = sequence(
    integer("1"),
    identifier,
    subject,
    time(thisUpdate),
    time(nextUpdate),
    ...(revoked.length > 0 ? [sequence(...revoked)] : []),
    tagged(0xa0, sequence(extension("551d23", authorityKeyId), extension("551d14", integer(number.toString(16))))),
  );
  return sequence(toBeSigned, identifier, bits(await sign(key, toBeSigned)));
}

const extension = (type: string, value: Uint8Array) => sequence(oid(type), octets(value));

async function encodeEntries(entries: readonly Entry[]) {
  const pause = createPause();
  const encoded: Uint8Array[] = [];
  for (const entry of entries) {
    await pause();
    if ("raw" in entry) {
      encoded.push(entry.raw);
      continue;
    }
    const { serialNumber, revokedAt, reason } = entry;
    const extensions = encodeReason(reason).map((code) => sequence(extension("551d15", code)));
    encoded.push(sequence(integer(serialNumber), time(revokedAt), ...extensions));
  }
  return encoded;
}
