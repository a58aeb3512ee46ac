import { createPrivateKey, type KeyObject } from "node:crypto";
import type { Sql } from "#db/connect";
import { type Target, updateLocked } from "#db/outcome";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import { DerError } from "#x509/der";
import { isSignedBy, type ParsedCertificate, parseCertificate, publicKeyOf as publicKeyIn } from "#x509/facts";
import { readPem } from "#x509/pem";
import { activateAuthority, findStored, insertAuthority, type StoredAuthority } from "../queries/authorities";
import { hasRevoked, storeCertificate } from "../queries/issued";
import { isAuthorityProven } from "../queries/stamps";
import type { NameConstraints } from "../rules/names";
import type { Profile } from "../rules/profiles";
import { rowOf } from "./draft";
import { algorithmOf, publicKeyOf } from "./keys";
import { derOf, partsOf, unprovenSentence } from "./signer";

/** A CA and those above it: more is no chain that a client takes. */
const MAX_CHAIN = 10;
type Chain = [ParsedCertificate, ...ParsedCertificate[]];
type AuthorityFile = { name: string; pem?: string | undefined; privateKeyPem?: string | undefined; profiles: Profile[]; publicUrl: string };

/** Takes a CA that is there already, with its key. */
export async function importAuthority(
  { sql, config, stamps, clock }: IssuingDeps,
  scope: Scope,
  { name, pem = "", privateKeyPem = "", profiles, publicUrl }: AuthorityFile,
) {
  const chain = readChain(pem);
  if ("invalid" in chain) return chain;
  const key = readPrivateKey(privateKeyPem);
  const algorithm = key && algorithmOf(key);
  if (!key || !algorithm)
    return { invalid: "body.privateKeyPem must be an unencrypted private key in PEM: ECDSA on P-256 or P-384, or RSA of 2048, 3072 or 4096 bits." };
  const publicKey = publicKeyOf(key);
  const invalid = authorityFault(chain, publicKey, clock());
  if (invalid) return { invalid: `body.pem: ${invalid}` };
  return sql.begin(async (tx) => {
    if (await hasRevoked(tx, scope.organizationId, chain)) return { invalid: "body.pem: it is revoked, or one above it." };
    const draft = { id: Bun.randomUUIDv7(), name, key, algorithm, publicKey, profiles, publicUrl };
    const row = { ...rowOf(config.keyring, scope.organizationId, draft), ...(await keepChain(tx, stamps, scope, chain)), requestPem: null };
    return insertAuthority(tx, stamps, scope, { ...row, kind: chain[0].selfSigned ? "root" : "issuing" }, clock());
  });
}

/** Makes a pending authority active by the certificate that an authority elsewhere made of its request. */
export async function activateByCertificate({ sql, stamps, clock }: IssuingDeps, scope: Scope, { id, versions }: Target, pem: string) {
  return sql.begin(async (tx) =>
    updateLocked(await findStored(tx, scope.organizationId, id, "update"), versions, async (pending) => {
      if (pending.status !== "pending") return "conflict";
      const chain = readOwnChain(stamps, pending, pem);
      if ("invalid" in chain) return chain;
      const isKnownBad = await hasRevoked(tx, scope.organizationId, chain);
      const invalid = activationFault(chain, pending, clock()) ?? (isKnownBad ? "it is revoked, or one above it." : undefined);
      if (invalid) return { invalid: `body.pem: ${invalid}` };
      return activateAuthority(tx, stamps, scope, id, await keepChain(tx, stamps, scope, chain), clock());
    }),
  );
}

const readOwnChain = (stamps: IssuingDeps["stamps"], pending: StoredAuthority, pem: string) =>
  isAuthorityProven(stamps, pending) ? readChain(pem) : { invalid: unprovenSentence(pending.name) };

/** Why a certificate is not what a pending authority asked for. */
function activationFault(chain: Chain, { publicKey, pathLength: asked }: StoredAuthority, now: Date) {
  const fault = authorityFault(chain, Buffer.from(publicKey, "base64"), now);
  const { pathLength } = chain[0].facts;
  if (fault || asked === null || asked === pathLength) return fault;
  return `its path length is ${pathLength ?? "not limited"}, and the request asked for ${asked}.`;
}

function readChain(pem: string): Chain | { invalid: string } {
  const blocks = readPem(pem).slice(0, MAX_CHAIN + 1);
  if (blocks.length > MAX_CHAIN) return { invalid: `body.pem holds more than ${MAX_CHAIN} PEM blocks.` };
  const chain: ParsedCertificate[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.label !== "CERTIFICATE") return { invalid: `body.pem, block ${index}: it is a ${block.label}, not a CERTIFICATE.` };
    if ("fault" in block) return { invalid: `body.pem, block ${index}: it cannot be read: ${block.fault}.` };
    try {
      chain.push(parseCertificate(block.bytes));
    } catch (error) {
      if (!(error instanceof DerError)) throw error;
      return { invalid: `body.pem, block ${index}: it is not a certificate: ${error.message}.` };
    }
  }
  const [first, ...rest] = chain;
  return first ? [first, ...rest] : { invalid: "body.pem holds no PEM block (-----BEGIN CERTIFICATE-----)." };
}

function readPrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return; // encrypted, or no key
  }
}

/** Why a certificate, with those above it, is not that of an authority with this key. */
function authorityFault(chain: Chain, publicKey: Buffer, now: Date) {
  if (!publicKey.equals(partsOf(derOf(chain[0].pem)).publicKey)) return "its key is another one.";
  for (const [index, each] of chain.entries()) {
    const fault = memberFault(each, index, now);
    if (fault) return `${index === 0 ? "it" : `"${each.commonName}"`} ${fault}.`;
  }
  const unsigned = chain.findIndex((each, index) => index > 0 && !isSignedBy((chain[index - 1] ?? each).x509, publicKeyIn(each.x509)));
  if (unsigned > 0) return `block ${unsigned} did not sign block ${unsigned - 1}.`;
}

/** Why a certificate is not that of an authority with so many others below it. */
function memberFault({ isCa, facts, notBefore, notAfter, selfSigned }: ParsedCertificate, below: number, now: Date) {
  const { keyUsage, signatureAlgorithm, pathLength } = facts;
  if (!isCa) return "is no CA";
  if (keyUsage.length > 0 && !["keyCertSign", "cRLSign"].every((each) => keyUsage.includes(each))) return "may not sign certificates and CRLs (key usage)";
  if (notAfter <= now) return "has expired";
  if (notBefore > now) return "is not valid yet";
  if (!selfSigned && /sha1|md5|md2/i.test(signatureAlgorithm)) return `is signed with ${signatureAlgorithm}`;
  return (pathLength ?? below) < below ? "has a path length that is too short for what is below it" : undefined;
}

/** Stores a chain from the top down, as certificates of the organization; what of it the authority keeps. */
async function keepChain(sql: Sql, stamps: IssuingDeps["stamps"], scope: Scope, chain: Chain) {
  let certificateId: string | undefined;
  for (const each of chain.toReversed()) certificateId = await storeCertificate(sql, stamps, scope, each, certificateId);
  const [own, ...above] = chain;
  const constraints = chain.flatMap(({ pem }): NameConstraints | [] => partsOf(derOf(pem)).constraints ?? []);
  return {
    parentId: null,
    certificateId: certificateId ?? null,
    chainPem: above.flatMap(({ selfSigned, pem }) => (selfSigned ? [] : pem)).join(""),
    subject: own.subject,
    pathLength: own.facts.pathLength,
    constraints,
    notBefore: own.notBefore,
    notAfter: own.notAfter,
  };
}
