import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { sha256 } from "#crypto/sha256";
import { DerError, readOne } from "#x509/der";
import { toPem } from "#x509/der-writer";
import { parseCertificate } from "#x509/facts";
import { type PemBlock, readPem } from "#x509/pem";
import { privateKeyIn } from "./host/pem";
import type { Desired } from "./server-client";
import type { Material } from "./store";

type Sent = Pick<Desired, "materialType" | "pem" | "chain" | "privateKeyPem" | "fingerprintSha256" | "includePrivateKey">;

/** Returns what is to be installed: certificates and a key that read as such, whatever else stands in what the server sent. */
export function readMaterial({ materialType, pem, chain, privateKeyPem, fingerprintSha256, includePrivateKey }: Sent): Material {
  const [block, ...more] = readPem(pem);
  if (more.length > 0) throw new Error(`The server sent ${more.length + 1} blocks in the place of one certificate.`);
  const { certificate, fingerprint, isAnchor } = readCertificate(block, "The certificate that the server sent");
  if (fingerprint !== fingerprintSha256) throw new Error("The certificate that the server sent has another fingerprint than it says.");
  if (isAnchored(materialType) && !isAnchor) throw new Error("The certificate that the server sent as an anchor is no authority's, and not signed by itself.");
  if (includePrivateKey && !privateKeyPem) throw new Error("The server sent no private key, though the assignment includes one.");
  const issuers = chain.flatMap(readPem);
  if (issuers.length > MAX_CHAIN)
    throw new Error(`The server sent ${issuers.length} certificates as one chain, and an agent reads ${MAX_CHAIN}. Remove those that do not belong to it.`);
  return {
    certificate,
    fingerprint,
    chain: issuers.map((each, index) => readCertificate(each, `Certificate ${index + 1} of the chain that the server sent`).certificate),
    privateKey: privateKeyPem && readPrivateKey(privateKeyPem, (key) => new X509Certificate(certificate).checkPrivateKey(key)),
  };
}

/** Certificates of one chain: each is parsed, and where the policy says who may be trusted, its signature is checked. */
const MAX_CHAIN = 100;

/** Returns true where the store's reader is to take it for an authority. */
const isAnchored = (materialType: Desired["materialType"]) => materialType === "trust_anchor" || materialType === "intermediate_ca";

type Certificate = { certificate: string; fingerprint: string; isAnchor: boolean };

/** Certificates that were read, by fingerprint: each pass brings the same ones, and many hosts' assignments the same root. */
const read = new Map<string, Certificate>();
const MAX_READ = 2_000;

/** Returns the certificate of a block, written the one usual way, and what counts of it; `what` names it where it cannot be read. */
function readCertificate(block: PemBlock | undefined, what: string): Certificate {
  if (block?.label !== "CERTIFICATE") throw new Error(`${what} is none in PEM.`);
  if ("fault" in block) throw new Error(`${what} cannot be read: ${block.fault}.`);
  const fingerprint = sha256(block.bytes);
  const known = read.get(fingerprint);
  if (known) return known;
  try {
    const { isCa, selfSigned } = parseCertificate(block.bytes);
    const certificate = { certificate: toPem("CERTIFICATE", block.bytes), fingerprint, isAnchor: isCa || selfSigned };
    if (read.size >= MAX_READ) read.clear();
    read.set(fingerprint, certificate);
    return certificate;
  } catch (error) {
    if (error instanceof DerError) throw new Error(`${what} cannot be read: ${error.message}.`);
    throw error;
  }
}

const NO_KEY = "What the server sent as a private key is none in PEM.";

/** Returns the one private key of a text, in PEM without a password. The server has stored none that this cannot read. */
function readPrivateKey(text: string, isOwn: (key: KeyObject) => boolean) {
  const pem = privateKeyIn(text);
  const key = pem === undefined ? undefined : openKey(pem);
  if (pem === undefined || !key) throw new Error(NO_KEY);
  if (!isOwn(key)) throw new Error("The private key that the server sent is another certificate's.");
  return `${pem}\n`;
}

/** Returns undefined for anything but base64 between two lines, of one key and nothing behind it. */
function openKey(pem: string) {
  const [block, ...more] = readPem(pem);
  if (!block || "fault" in block || more.length > 0) return undefined;
  try {
    readOne(block.bytes);
    return createPrivateKey(pem);
  } catch {
    return undefined; // by one of two readers; why is of no use to the one who reads the report
  }
}
