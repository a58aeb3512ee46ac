import { createPrivateKey, sign } from "node:crypto";
import { promisify } from "node:util";
import type { Keyring } from "#crypto/keyring";
import { publicHalfOf, type Signer, signRequest } from "#modules/certificates/certificates/x509/signing-request";
import type { Name } from "../rules/driver";

const signAside = promisify(sign);

/** What a sealed private key is bound to: it opens for no other request. */
const keyContext = ({ organizationId, id }: { organizationId: string; id: string }) => `request-key ${organizationId} ${id}`;
type Row = Parameters<typeof keyContext>[0];

export const openKey = (keyring: Keyring, sealed: Uint8Array, row: Row) => keyring.unseal(sealed, keyContext(row));

/** Makes the PKCS #10 request of a private key that is there already. */
export async function requestOf(keyring: Keyring, names: readonly Name[], pem: string, row: Row) {
  const privateKey = createPrivateKey(pem);
  const signer: Signer = { publicKey: publicHalfOf(privateKey), sign: (data, hash) => signAside(hash, data, privateKey) };
  return { csr: Buffer.from(await signRequest({ commonName: null, names }, signer)), sealedPrivateKey: keyring.seal(pem, keyContext(row)) };
}
