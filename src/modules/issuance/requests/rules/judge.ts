import { sha256 } from "#crypto/sha256";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { judgeKey } from "#modules/issuance/issuing/rules/key-strength";
import { valuesOf } from "#modules/issuance/issuing/rules/names";
import { DerError } from "#x509/der";
import { isSignedBy, type ParsedCertificate, parseCertificate, publicKeyOf } from "#x509/facts";
import { readPem } from "#x509/pem";
import { findDifference, keyIn } from "./csr";

/** The most characters, and certificates: longer chains do not exist. */
const MAX_CHAIN = 128 * 1024;
const MAX_CERTIFICATES = 10;
/** How far clocks may differ. */
const SKEW_MS = 300_000;
const WEAK_SIGNATURE = /^(md2|md5|sha1)|-SHA1$/;

type ExpectedCertificate = { csr: Uint8Array; names: readonly Name[]; now: Date };
/** Returns the stored certificates of authorities with this subject. */
type FindAuthorities = (subjectHash: string) => Promise<readonly ParsedCertificate[]>;

/** A leaf and those above it. */
type Chain = { leaf: ParsedCertificate; issuers: ParsedCertificate[] };

/**
 * Returns the chain of an issuer's answer (PEM, the leaf first), or a sentence on what differs from the request. The root may
 * be left out; a leaf alone must be signed by a stored authority.
 */
export async function judgeChain(chainPem: string, asked: ExpectedCertificate, findAuthorities: FindAuthorities): Promise<Chain | { fault: string }> {
  const read = readChain(chainPem);
  if ("fault" in read) return read;
  const [leaf, ...issuers] = read.chain;
  if (!leaf) return { fault: "The issuer answered no certificate." };
  const fault = findLeafFault(leaf, asked) ?? findChainFault(leaf, issuers, asked.now);
  if (fault !== undefined) return { fault };
  const isAlone = issuers.length === 0 && !(await findAuthorities(leaf.issuerHash)).some((each) => hasSigned(each, leaf));
  return isAlone ? { fault: "The certificate came without the intermediate that signed it." } : { leaf, issuers };
}

function readChain(chainPem: string): { chain: ParsedCertificate[] } | { fault: string } {
  if (chainPem.length > MAX_CHAIN) return { fault: `The issuer answered a chain of more than ${MAX_CHAIN / 1024} KiB.` };
  const blocks = readPem(chainPem);
  if (blocks.length > MAX_CERTIFICATES) return { fault: `The issuer answered more than ${MAX_CERTIFICATES} certificates.` };
  const chain: ParsedCertificate[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.label !== "CERTIFICATE" || "fault" in block) return { fault: `Block ${index} of the issuer's answer is not a certificate.` };
    try {
      chain.push(parseCertificate(block.bytes));
    } catch (error) {
      if (!(error instanceof DerError)) throw error;
      return { fault: `Block ${index} of the issuer's answer is not a certificate: ${error.message}.` };
    }
  }
  return { chain };
}

function findLeafFault(leaf: ParsedCertificate, { csr, names, now }: ExpectedCertificate) {
  if (leaf.facts.spkiSha256 !== sha256(keyIn(csr))) return "The certificate has another key than was asked for.";
  if (leaf.isCa) return "The certificate is an authority's.";
  const { dns, ip, email, uri } = leaf.facts.subjectAlternativeNames;
  const difference = findDifference([...dns.map((each) => each.toLowerCase()), ...ip, ...email, ...uri], valuesOf(names));
  if (difference) return `The certificate ${difference}.`;
  return findTimeFault("The certificate", leaf, now) ?? findWeakness("The certificate", leaf);
}

function findTimeFault(which: string, { notBefore, notAfter }: ParsedCertificate, now: Date) {
  if (notBefore.getTime() > now.getTime() + SKEW_MS) return `${which} is not valid before ${notBefore.toISOString()}.`;
  if (notAfter <= now) return `${which} expired on ${notAfter.toISOString()}.`;
}

function findWeakness(which: string, { x509, facts, selfSigned }: ParsedCertificate) {
  const key = publicKeyOf(x509);
  const strength = key ? judgeKey(key) : { fault: "cannot be read" };
  if ("fault" in strength) return `${which} has a key that ${strength.fault}.`;
  if (!selfSigned && WEAK_SIGNATURE.test(facts.signatureAlgorithm)) return `${which} is signed with ${facts.signatureAlgorithm}.`;
}

function findChainFault(leaf: ParsedCertificate, issuers: ParsedCertificate[], now: Date) {
  for (const [index, issuer] of issuers.entries()) {
    const which = `Certificate ${index + 1} of the chain`;
    const fault = findTimeFault(which, issuer, now) ?? findWeakness(which, issuer);
    if (fault) return fault;
    if (!hasSigned(issuer, issuers[index - 1] ?? leaf))
      return `${which} did not sign the one before it: the chain is not in order, or an intermediate is missing.`;
  }
}

const hasSigned = (issuer: ParsedCertificate, child: ParsedCertificate) =>
  issuer.isCa && issuer.subjectHash === child.issuerHash && isSignedBy(child.x509, publicKeyOf(issuer.x509));
