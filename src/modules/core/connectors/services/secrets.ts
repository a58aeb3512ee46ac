import type { Values } from "#catalogue/fields";
import type { Keyring } from "#crypto/keyring";
import { openRecord, sealRecord } from "#crypto/sealed-record";

export type ConnectionKey = { organizationId: string; id: string };

/** Returns the context that sealed secrets are bound to: they open in no other organization and for no other connection. */
export const secretsContext = ({ organizationId, id }: ConnectionKey) => `connection-secrets ${organizationId} ${id}`;

/** None when there are no secrets. */
export const sealSecrets = (keyring: Keyring, secrets: Values, row: ConnectionKey) => sealRecord(keyring, secrets, secretsContext(row));

/** The secrets, or undefined when no key opens them. */
export const openSecrets = (keyring: Keyring, sealed: Uint8Array | null, row: ConnectionKey): Values | undefined =>
  openRecord(keyring, sealed, secretsContext(row));
