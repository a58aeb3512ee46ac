import { createPrivateKey, generateKeyPair, type KeyObject, sign } from "node:crypto";
import { promisify } from "node:util";
import type { Keyring } from "#crypto/keyring";
import { publicHalfOf, type Signer, signRequest } from "#modules/certificates/certificates/x509/signing-request";
import type { Name } from "../rules/driver";

const makeKeyPair = promisify(generateKeyPair);
const signAside = promisify(sign);

/** What a sealed private key is bound to: it opens for no other request. */
const keyContext = ({ organizationId, id }: { organizationId: string; id: string }) => `request-key ${organizationId} ${id}`;
type Row = Parameters<typeof keyContext>[0];

export const openKey = (keyring: Keyring, sealed: Uint8Array, row: Row) => keyring.unseal(sealed, keyContext(row));

const CURVES: Record<string, string> = { "ecdsa-p256": "P-256", "ecdsa-p384": "P-384" };

/** Makes a key beside the event loop, and the PKCS #10 request that it signs. */
export async function makeKey(keyring: Keyring, names: readonly Name[], algorithm: string, row: Row) {
  const { privateKey } = await makePair(algorithm);
  return requestOf(keyring, names, privateKey.export({ type: "pkcs8", format: "pem" }) as string, row);
}

/** Makes the PKCS #10 request of a private key that is there already. */
export async function requestOf(keyring: Keyring, names: readonly Name[], pem: string, row: Row) {
  const privateKey = createPrivateKey(pem);
  const signer: Signer = { publicKey: publicHalfOf(privateKey), sign: (data, hash) => signAside(hash, data, privateKey) };
  return { csr: Buffer.from(await signRequest({ commonName: null, names }, signer)), sealedPrivateKey: keyring.seal(pem, keyContext(row)) };
}

function makePair(algorithm: string): Promise<{ privateKey: KeyObject }> {
  const namedCurve = CURVES[algorithm];
  if (namedCurve) return makeKeyPair("ec", { namedCurve });
  return makeKeyPair("rsa", { modulusLength: Number(algorithm.replace("rsa-", "")) });
}
