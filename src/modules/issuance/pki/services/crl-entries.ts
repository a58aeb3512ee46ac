import { verify } from "node:crypto";
import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Signer } from "#modules/issuance/authorities/services/certificates";
import { signatureOf } from "#modules/issuance/authorities/services/keys";
import { createPause } from "#runtime/slices";
import { children, type Der, readInteger, readOne, TAG } from "#x509/der";
import { findStatuses, type IssuedStatus, listRevoked, type Publication } from "../queries";
import { endOf, provenStatus } from "./status";

/** An entry of a CRL: what is revoked, or the entry as the CRL before has it. */
export type Entry = { serialNumber: string; revokedAt: Date; reason: string | null } | { serialNumber: string; raw: Uint8Array };
type Revoked = { serialNumber: string; revokedAt: Date; reason: string | null };

/**
 * Returns the next CRL's entries, without those that ended before `since`. Rows revoke, and the CRL before counts, unless a
 * stamped status says otherwise: database access alone removes no entry.
 */
export async function listEntries(tx: Sql, stamps: Stamps, { key }: Signer, published: Publication, since: Date, now: Date): Promise<Entry[]> {
  const pause = createPause();
  const entries = new Map<string, Entry>();
  const seen = new Set<string>();
  for (const issued of await listRevoked(tx, published, since)) {
    await pause();
    seen.add(issued.serialNumber);
    const entry = isAgreed(issued) ? asRevoked(issued, now) : judge(stamps, issued, now, asRevoked(issued, now));
    if (entry) entries.set(entry.serialNumber, entry);
  }
  const before = await readEntries(key, published.crl);
  const missing = [...before.keys()].filter((each) => !seen.has(each));
  const rows = new Map((await findStatuses(tx, published.authorityId, missing)).map((each) => [each.serialNumber, each]));
  for (const serialNumber of missing) {
    await pause();
    const [issued, raw = Buffer.alloc(0)] = [rows.get(serialNumber), before.get(serialNumber)];
    const entry = issued ? judge(stamps, issued, now, { serialNumber, raw }, since) : { serialNumber, raw };
    if (entry) entries.set(serialNumber, entry);
  }
  return [...entries.values()];
}

/** Both rows say so, as a server writes them. */
const isAgreed = ({ revokedAt, certificate }: IssuedStatus) => revokedAt !== null && certificate.revokedAt !== null && certificate.status !== "active";

const asRevoked = ({ serialNumber, revokedAt, reason, certificate }: IssuedStatus, now: Date): Revoked => ({
  serialNumber,
  revokedAt: certificate.revokedAt ?? revokedAt ?? now,
  reason: certificate.reason ?? reason,
});

/** The entry of a certificate as its stamped status says, none where that lets it go; the `other` where nothing proves it. */
function judge(stamps: Stamps, issued: IssuedStatus, now: Date, other: Entry, since?: Date): Entry | undefined {
  try {
    const { revokedAt, reason } = provenStatus(stamps, issued, now);
    const isOver = since !== undefined && (endOf(issued) ?? now) <= since;
    return revokedAt && !isOver ? { serialNumber: issued.serialNumber, revokedAt, reason } : undefined;
  } catch {
    return other; // as it was, until a server or an administrator says so
  }
}

/** The entries of a CRL by their serial numbers; none of what the key has not signed. */
async function readEntries(key: Signer["key"], der: Uint8Array | null) {
  const entries = new Map<string, Uint8Array>();
  if (!der) return entries;
  const pause = createPause();
  for (const entry of readSigned(key, der)) {
    await pause();
    entries.set(readInteger(children(entry, TAG.sequence)[0]), entry.raw);
  }
  return entries;
}

/** The list of revoked certificates (RFC 5280, 5.1.2.6) is the sequence after the moments; one that is empty is left out. */
function readSigned(key: Signer["key"], der: Uint8Array): Der[] {
  try {
    const [toBeSigned, , signature] = children(readOne(der), TAG.sequence);
    const isSigned = toBeSigned && signature && verify(signatureOf(key).hash.replace("-", ""), toBeSigned.raw, key, signature.content.subarray(1));
    if (!isSigned) return [];
    const list = children(toBeSigned, TAG.sequence).at(5);
    return list?.tag === TAG.sequence ? children(list, TAG.sequence) : [];
  } catch {
    return []; // no CRL
  }
}
