import { seal, unseal } from "../../crypto/seal";
import type { Values } from "./rules";

type Row = { organizationId: string; id: string };

/** What sealed secrets are bound to: they open in no other organization and for no other connection. */
export const secretsContext = ({ organizationId, id }: Row) => `connection-secrets ${organizationId} ${id}`;

/** One sealed JSON text; none when there are no secrets. */
export const sealSecrets = (key: Uint8Array, secrets: Values, row: Row) =>
  Object.keys(secrets).length === 0 ? null : seal(key, JSON.stringify(secrets), secretsContext(row));

/** The secrets, or undefined when they were sealed with another key. */
export function openSecrets(key: Uint8Array, sealed: Uint8Array | null, row: Row): Values | undefined {
  if (sealed === null) return {};
  try {
    return JSON.parse(unseal(key, sealed, secretsContext(row)));
  } catch {
    return;
  }
}
