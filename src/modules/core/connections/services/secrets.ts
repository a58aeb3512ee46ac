import type { Values } from "#catalogue/fields";
import type { Keyring } from "#crypto/keyring";

type Row = { organizationId: string; id: string };

/** What sealed secrets are bound to: they open in no other organization and for no other connection. */
export const secretsContext = ({ organizationId, id }: Row) => `connection-secrets ${organizationId} ${id}`;

/** One sealed JSON text; none when there are no secrets. */
export const sealSecrets = (keyring: Keyring, secrets: Values, row: Row) =>
  Object.keys(secrets).length === 0 ? null : keyring.seal(JSON.stringify(secrets), secretsContext(row));

/** The secrets, or undefined when no key opens them. */
export function openSecrets(keyring: Keyring, sealed: Uint8Array | null, row: Row): Values | undefined {
  if (sealed === null) return {};
  try {
    return JSON.parse(keyring.unseal(sealed, secretsContext(row)));
  } catch {
    return;
  }
}
