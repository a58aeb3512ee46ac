import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import type { Values } from "#catalogue/fields";
import type { Keyring } from "#crypto/keyring";
import { openRecord, sealRecord } from "#crypto/sealed-record";
import type { OpenIssuer } from "#modules/issuance/requests/rules/driver";
import type { StoredIssuer } from "../queries";
import type { IssuerKind } from "../rules/kinds";

type Row = { organizationId: string; id: string };

/** What sealed secrets are bound to: they open in no other organization and for no other issuer. */
export const issuerContext = ({ organizationId, id }: Row) => `issuer-secrets ${organizationId} ${id}`;

export const sealSecrets = (keyring: Keyring, secrets: Values, row: Row) => sealRecord(keyring, secrets, issuerContext(row));

/** Returns an issuer with its secrets, or undefined when no key opens them. */
export function openIssuer(keyring: Keyring, { organizationId, id, kind, name, config, sealedSecrets, account }: StoredIssuer): OpenIssuer | undefined {
  const secrets = openRecord(keyring, sealedSecrets, issuerContext({ organizationId, id }));
  return secrets && { organizationId, id, kind, name, config, secrets: secrets as Record<string, string>, account };
}

const makeKeyPair = promisify(generateKeyPair);

/** Returns the secrets with what an issuer of this kind makes itself: the key of its account. */
export async function completeSecrets(kind: IssuerKind, secrets: Values): Promise<Values> {
  if (kind !== "acme" || secrets.accountKeyPem !== undefined) return secrets;
  const { privateKey } = await makeKeyPair("ec", { namedCurve: "P-256" });
  return { ...secrets, accountKeyPem: String(privateKey.export({ type: "pkcs8", format: "pem" })).trim() };
}
