import type { Sql } from "#db/connect";
import { findStored } from "#modules/issuance/authorities/queries/authorities";
import { openSigner } from "#modules/issuance/authorities/services/signer";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import type { Publication } from "../queries";

export const scopeOf = ({ organizationId }: Publication): Scope => ({ organizationId, actor: { type: "server" }, requestId: null });

/** Opens the key of an authority that publishes. */
export async function openAuthority(sql: Sql, { config }: IssuingDeps, { organizationId, authorityId }: Publication) {
  const stored = await findStored(sql, organizationId, authorityId);
  if (!stored) throw new Error("an authority that publishes is gone");
  return openSigner(config.keyring, stored);
}

/** The earlier one. */
export const earlier = (one: Date, other: Date) => (one < other ? one : other);
