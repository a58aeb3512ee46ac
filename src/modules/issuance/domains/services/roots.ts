import { X509Certificate } from "node:crypto";
import { getCACertificates } from "node:tls";
import { createPause } from "#runtime/slices";

/** Returns the authorities that this machine trusts: Mozilla's, the system's, and those of NODE_EXTRA_CA_CERTS. */
export const trustedRoots = () => [...new Set((["bundled", "system", "extra"] as const).flatMap((which) => getCACertificates(which)))];

/** True where one of these authorities, in PEM, is the last certificate of a chain, or has signed it. */
export async function leadsToRoot(last: X509Certificate, authorities: readonly string[]) {
  const pause = createPause();
  for (const pem of authorities) {
    await pause();
    const root = new X509Certificate(pem);
    if (root.fingerprint256 === last.fingerprint256 || (last.checkIssued(root) && last.verify(root.publicKey))) return true;
  }
  return false;
}
