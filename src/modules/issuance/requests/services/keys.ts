import { createPrivateKey, sign } from "node:crypto";
import { promisify } from "node:util";
import type { Keyring } from "#crypto/keyring";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { publicHalfOf, type Signer, signRequest } from "#x509/signing-request";

const signAside = promisify(sign);

/** The binding of a sealed private key: it opens for no other request. */
const keyContext = ({ organizationId, id }: { organizationId: string; id: string }) => `request-key ${organizationId} ${id}`;
type RequestKey = Parameters<typeof keyContext>[0];

export const openKey = (keyring: Keyring, sealed: Uint8Array, row: RequestKey) => keyring.unseal(sealed, keyContext(row));

/** Makes the PKCS #10 request of a private key that is there already. */
export async function requestOf(keyring: Keyring, names: readonly Name[], pem: string, row: RequestKey) {
  const privateKey = createPrivateKey(pem);
  const signer: Signer = { publicKey: publicHalfOf(privateKey), sign: (data, hash) => signAside(hash, data, privateKey) };
  return { csr: Buffer.from(await signRequest({ commonName: null, names }, signer)), sealedPrivateKey: keyring.seal(pem, keyContext(row)) };
}
