import type { Values } from "#catalogue/fields";
import type { Keyring } from "#crypto/keyring";
import { makeEcdsaKey } from "#crypto/private-keys";
import { openRecord, sealRecord } from "#crypto/sealed-record";
import type { OpenIssuer } from "#modules/issuance/issuing/rules/driver";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { issuerFacts, type StoredIssuer, UNPROVEN_ISSUER } from "../queries/issuers";
import type { IssuerKind } from "../rules/kinds";

type IssuerKey = { organizationId: string; id: string };

/** Returns the context that sealed secrets are bound to: they open in no other organization and for no other issuer. */
export const issuerContext = ({ organizationId, id }: IssuerKey) => `issuer-secrets ${organizationId} ${id}`;

export const sealSecrets = (keyring: Keyring, secrets: Values, row: IssuerKey) => sealRecord(keyring, secrets, issuerContext(row));

/**
 * Returns an issuer with its secrets; or why they are not opened: no server has set its config, which decides where they go, or
 * no key opens them.
 */
export function openIssuer({ config: { keyring }, stamps }: Pick<IssuingDeps, "config" | "stamps">, stored: StoredIssuer): OpenIssuer | { fault: string } {
  const { organizationId, id, kind, name, config, sealedSecrets, account, stamp } = stored;
  if (!stamps.hold(stamp, issuerFacts(stored))) return { fault: UNPROVEN_ISSUER };
  const secrets = openRecord(keyring, sealedSecrets, issuerContext({ organizationId, id }));
  if (!secrets) return { fault: "The issuer's secrets were sealed with another SECRETS_KEY. Set them again." };
  return { organizationId, id, kind, name, config, secrets: secrets as Record<string, string>, account };
}

/** Returns the secrets with what an issuer of this kind makes itself: the key of its account. */
export function completeSecrets(kind: IssuerKind, secrets: Values): Values {
  if (kind !== "acme" || secrets.accountKeyPem !== undefined) return secrets;
  const accountKey = makeEcdsaKey("ecdsa-p256");
  return { ...secrets, accountKeyPem: String(accountKey.export({ type: "pkcs8", format: "pem" })).trim() };
}
