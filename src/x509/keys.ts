import { children, type Der, readOid, TAG } from "./der";

export type KeyFacts = { algorithm: string; size: number | null; curve: string | null };

const KEY_ALGORITHMS: Record<string, string> = {
  "1.2.840.113549.1.1.1": "RSA",
  "1.2.840.113549.1.1.10": "RSA-PSS",
  "1.2.840.10040.4.1": "DSA",
  "1.2.840.10045.2.1": "EC",
  "1.3.101.110": "X25519",
  "1.3.101.111": "X448",
  "1.3.101.112": "Ed25519",
  "1.3.101.113": "Ed448",
  "2.16.840.1.101.3.4.3.17": "ML-DSA-44",
  "2.16.840.1.101.3.4.3.18": "ML-DSA-65",
  "2.16.840.1.101.3.4.3.19": "ML-DSA-87",
};

const FIXED_SIZES: Record<string, number> = { X25519: 256, Ed25519: 256, X448: 448, Ed448: 456 };

/** Name and size in bits of the named curves. */
const CURVES: Record<string, [string, number]> = {
  "1.2.840.10045.3.1.1": ["P-192", 192],
  "1.3.132.0.33": ["P-224", 224],
  "1.2.840.10045.3.1.7": ["P-256", 256],
  "1.3.132.0.34": ["P-384", 384],
  "1.3.132.0.35": ["P-521", 521],
  "1.3.132.0.10": ["secp256k1", 256],
  "1.3.36.3.3.2.8.1.1.7": ["brainpoolP256r1", 256],
  "1.3.36.3.3.2.8.1.1.11": ["brainpoolP384r1", 384],
  "1.3.36.3.3.2.8.1.1.13": ["brainpoolP512r1", 512],
};

const SIGNATURE_ALGORITHMS: Record<string, string> = {
  "1.2.840.113549.1.1.2": "md2WithRSAEncryption",
  "1.2.840.113549.1.1.4": "md5WithRSAEncryption",
  "1.2.840.113549.1.1.5": "sha1WithRSAEncryption",
  "1.2.840.113549.1.1.10": "rsassaPss",
  "1.2.840.113549.1.1.11": "sha256WithRSAEncryption",
  "1.2.840.113549.1.1.12": "sha384WithRSAEncryption",
  "1.2.840.113549.1.1.13": "sha512WithRSAEncryption",
  "1.2.840.113549.1.1.14": "sha224WithRSAEncryption",
  "1.2.840.10040.4.3": "dsa-with-SHA1",
  "2.16.840.1.101.3.4.3.2": "dsa-with-SHA256",
  "1.2.840.10045.4.1": "ecdsa-with-SHA1",
  "1.2.840.10045.4.3.1": "ecdsa-with-SHA224",
  "1.2.840.10045.4.3.2": "ecdsa-with-SHA256",
  "1.2.840.10045.4.3.3": "ecdsa-with-SHA384",
  "1.2.840.10045.4.3.4": "ecdsa-with-SHA512",
  "1.3.101.112": "Ed25519",
  "1.3.101.113": "Ed448",
  "2.16.840.1.101.3.4.3.17": "ML-DSA-44",
  "2.16.840.1.101.3.4.3.18": "ML-DSA-65",
  "2.16.840.1.101.3.4.3.19": "ML-DSA-87",
};

/** The algorithm's usual name; an unknown one keeps its OID. */
export function readSignatureAlgorithm(identifier: Der | undefined) {
  const oid = readOid(children(identifier, TAG.sequence)[0]);
  return SIGNATURE_ALGORITHMS[oid] ?? oid;
}

/** Reads a SubjectPublicKeyInfo; sizes are in bits. */
export function readKey(publicKeyInfo: Der | undefined): KeyFacts {
  const [identifier, bits] = children(publicKeyInfo, TAG.sequence);
  const [algorithmId, parameters] = children(identifier, TAG.sequence);
  const oid = readOid(algorithmId);
  const algorithm = KEY_ALGORITHMS[oid] ?? oid;
  if (algorithm === "EC") {
    const curveId = parameters?.tag === TAG.oid ? readOid(parameters) : undefined;
    const [curve, size] = CURVES[curveId ?? ""] ?? [curveId ?? "explicit parameters", null];
    return { algorithm, size, curve };
  }
  if (algorithm.startsWith("RSA")) return { algorithm, size: rsaSize(bits), curve: null };
  if (algorithm === "DSA" && parameters) return { algorithm, size: bitLength(children(parameters, TAG.sequence)[0]), curve: null };
  return { algorithm, size: FIXED_SIZES[algorithm] ?? null, curve: null };
}

function rsaSize(bits: Der | undefined) {
  const [key] = bits?.tag === TAG.bitString ? childrenOfBits(bits) : [];
  return bitLength(key && children(key, TAG.sequence)[0]);
}

const childrenOfBits = (bits: Der) => children({ ...bits, tag: TAG.sequence, content: bits.content.subarray(1) }, TAG.sequence);

function bitLength(integer: Der | undefined) {
  const hex = Buffer.from(integer?.content ?? [])
    .toString("hex")
    .replace(/^0+/, "");
  return hex === "" ? null : hex.length * 4 - Math.clz32(Number.parseInt(hex[0] ?? "0", 16)) + 28;
}
