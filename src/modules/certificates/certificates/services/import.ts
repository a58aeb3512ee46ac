import { createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import type { Keyring } from "#crypto/keyring";
import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Scope } from "#modules/people/audit/queries";
import { createPause } from "#runtime/slices";
import { DerError } from "#x509/der";
import { type ParsedCertificate, parseCertificate } from "#x509/facts";
import { type PemBlock, scanPem } from "#x509/pem";
import { findSigners, linkChains } from "../queries/chains";
import { insertRows, type Stored, toRow, toStatements } from "../queries/insert";
import { keyContext } from "../rules/key-context";
import { type ImportReport, MAX_BLOCKS } from "../schema/certificates";

type Candidate = ParsedCertificate & { index: number };
type Material = { pem: string; privateKeyPem?: string | undefined };

/** How long a request looks for issuers, before and after it stores. */
const LINKING_MS = 1_000;

/**
 * Stores the certificates of a PEM text, in slices and several statements; unreadable blocks are reported by index. `invalid`
 * without a good block, with too many, or with a foreign key.
 */
export async function importCertificates(
  sql: Sql,
  { keyring, stamps }: { keyring: Keyring; stamps: Stamps },
  scope: Scope,
  { pem, privateKeyPem }: Material,
): Promise<ImportReport | { invalid: string }> {
  const blocks = await readBlocks(pem);
  if (blocks === "too many") return { invalid: `body.pem holds more than ${MAX_BLOCKS} PEM blocks. Send them in several requests.` };
  const { good, refused } = await parseBlocks(blocks);
  const [first] = refused;
  if (good.length === 0)
    return { invalid: first ? `body.pem, block ${first.index}: ${first.message}` : "body.pem holds no PEM block (-----BEGIN CERTIFICATE-----)." };
  const owner = privateKeyPem === undefined ? undefined : await findKeyOwner(privateKeyPem, good);
  if (owner === "unreadable") return { invalid: "body.privateKeyPem is not an unencrypted private key in PEM." };
  if (owner === "no match") return { invalid: "body.privateKeyPem is not the private key of any certificate in body.pem." };
  const sealedKeyOf = (each: Candidate) =>
    each.fingerprintSha256 === owner?.fingerprintSha256 ? keyring.seal(privateKeyPem ?? "", keyContext(scope.organizationId, each.fingerprintSha256)) : null;
  const stored = await storeAll(sql, stamps, scope, good, sealedKeyOf);
  return { ...toReport(good, stored), refused };
}

async function readBlocks(pem: string) {
  const pause = createPause();
  const blocks: PemBlock[] = [];
  for (const block of scanPem(pem)) {
    await pause();
    if (block && blocks.push(block) > MAX_BLOCKS) return "too many";
  }
  return blocks;
}

async function parseBlocks(blocks: PemBlock[]) {
  const pause = createPause();
  const good: Candidate[] = [];
  const refused: ImportReport["refused"] = [];
  for (const [index, block] of blocks.entries()) {
    await pause();
    const read = parseBlock(block);
    if ("fault" in read) refused.push({ index, message: read.fault });
    else good.push({ index, ...read });
  }
  return { good, refused };
}

function parseBlock(block: PemBlock): ParsedCertificate | { fault: string } {
  if (/PRIVATE KEY/.test(block.label)) return { fault: "It is a private key. Send it as body.privateKeyPem, next to its certificate." };
  if (block.label !== "CERTIFICATE" && block.label !== "X509 CERTIFICATE") return { fault: `It is a ${block.label}, not a CERTIFICATE.` };
  if ("fault" in block) return { fault: `It cannot be read: ${block.fault}.` };
  try {
    return parseCertificate(block.bytes);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { fault: `It is not a certificate: ${error.message}.` };
  }
}

async function findKeyOwner(privateKeyPem: string, certificates: Candidate[]) {
  const pause = createPause();
  const key = openPrivateKey(privateKeyPem);
  if (!key) return "unreadable";
  for (const each of certificates) {
    await pause();
    if (belongs(each.x509, key)) return each;
  }
  return "no match";
}

function openPrivateKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    return;
  }
}

function belongs(certificate: X509Certificate, key: KeyObject) {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false; // a key type that this platform cannot use
  }
}

/** Each certificate once, however often it was sent; authorities first, so that what they issued is stored with its issuer. */
async function storeAll(sql: Sql, stamps: Stamps, scope: Scope, certificates: Candidate[], sealedKeyOf: (each: Candidate) => Buffer | null) {
  const { organizationId } = scope;
  const stored = new Map<string, Stored>();
  async function store(each: Candidate[], signers?: Map<ParsedCertificate, string>) {
    const rows = each.values().map((one) => toRow(stamps, organizationId, one, sealedKeyOf(one), signers?.get(one)));
    for (const statement of toStatements(rows)) for (const [fingerprint, row] of await insertRows(sql, scope, statement)) stored.set(fingerprint, row);
  }
  const unique = [...new Map(certificates.map((each) => [each.fingerprintSha256, each])).values()];
  const { true: authorities = [], false: leaves = [] } = Object.groupBy(unique, (each) => `${each.isCa || each.selfSigned}`);
  await store(authorities);
  await store(leaves, await inTime((signal) => findSigners(sql, organizationId, leaves, signal)));
  const ids = [...stored.values()].map((each) => each.id);
  await inTime((signal) => linkChains(sql, organizationId, ids, signal));
  return stored;
}

/** Returns undefined when the time was up. */
function inTime<Result>(work: (signal: AbortSignal) => Promise<Result>) {
  const signal = AbortSignal.timeout(LINKING_MS);
  return work(signal).catch((error) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
}

function toReport(certificates: Candidate[], stored: Map<string, Stored>) {
  const report: Pick<ImportReport, "imported" | "duplicates"> = { imported: [], duplicates: [] };
  const seen = new Set<string>();
  for (const { index, commonName, fingerprintSha256 } of certificates) {
    const found = stored.get(fingerprintSha256);
    if (!found) throw new Error(`certificate ${fingerprintSha256} vanished during its import`);
    const { id, isNew, isReactivated } = found;
    const isFirst = seen.size < seen.add(fingerprintSha256).size;
    if (isNew && isFirst) report.imported.push({ index, id, commonName, fingerprintSha256 });
    else report.duplicates.push({ index, id, fingerprintSha256, reactivated: isReactivated && isFirst });
  }
  return report;
}
