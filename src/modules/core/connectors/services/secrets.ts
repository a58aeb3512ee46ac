import type { Values } from "#catalogue/fields";
import type { Keyring } from "#crypto/keyring";
import { openRecord, sealRecord } from "#crypto/sealed-record";

type Row = { organizationId: string; id: string };

/** Returns the context that sealed secrets are bound to: they open in no other organization and for no other connection. */
export const secretsContext = ({ organizationId, id }: Row) => `connection-secrets ${organizationId} ${id}`;

/** None when there are no secrets. */
export const sealSecrets = (keyring: Keyring, secrets: Values, row: Row) => sealRecord(keyring, secrets, secretsContext(row));

/** The secrets, or undefined when no key opens them. */
export const openSecrets = (keyring: Keyring, sealed: Uint8Array | null, row: Row): Values | undefined => openRecord(keyring, sealed, secretsContext(row));
