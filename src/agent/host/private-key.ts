import { createPrivateKey, generateKeyPair, sign, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { toPem } from "#x509/der-writer";
import { publicHalfOf, type Signer, type Subject, signRequest } from "#x509/signing-request";

const generate = promisify(generateKeyPair);
const signAsync = promisify(sign) as (hash: string, data: Uint8Array, key: string) => Promise<Buffer>;

const KINDS = {
  "ecdsa-p256": ["ec", { namedCurve: "P-256" }],
  "ecdsa-p384": ["ec", { namedCurve: "P-384" }],
  "rsa-2048": ["rsa", { modulusLength: 2_048 }],
  "rsa-3072": ["rsa", { modulusLength: 3_072 }],
  "rsa-4096": ["rsa", { modulusLength: 4_096 }],
} as const;
export type KeyAlgorithm = keyof typeof KINDS;

/** Makes a private key; returns it as PEM in PKCS #8. Large RSA keys take seconds, in a thread of their own. */
export async function makePrivateKey(algorithm: KeyAlgorithm) {
  const [type, options] = KINDS[algorithm];
  const { privateKey } = await generate(type as "rsa", options as { modulusLength: number });
  return String(privateKey.export({ type: "pkcs8", format: "pem" }));
}

/** A private key of a PEM, as what signs. Throws where it is none. */
export const signerOf = (pem: string): Signer => ({
  publicKey: publicHalfOf(createPrivateKey(pem)),
  sign: (data, hash) => signAsync(hash, data, pem),
});

/** A certificate signing request in PEM. */
export const makeCsr = async (subject: Subject, signer: Signer) => toPem("CERTIFICATE REQUEST", await signRequest(subject, signer));

/** Returns whether the private key is the certificate's; false for a key that cannot be read. */
export function isKeyOf(certificate: string, privateKey: string) {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}
