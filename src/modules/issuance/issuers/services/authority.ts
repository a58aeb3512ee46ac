import type { Values } from "#catalogue/fields";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { findStored } from "#modules/issuance/authorities/queries/authorities";
import { findProfile } from "#modules/issuance/authorities/rules/profiles";
import { issuingFault } from "#modules/issuance/authorities/services/signer";
import type { IssuerKind } from "../rules/kinds";

type Fault = { invalid: string } | { inTheWay: string };

/**
 * Why an issuer of this config would issue nothing: the authority that it names is not there, or does not issue. It stays there
 * until the transaction ends.
 */
export async function findAuthorityFault(
  deps: Pick<Deps, "stamps" | "clock">,
  tx: Sql,
  { organizationId, kind, config }: { organizationId: string; kind: IssuerKind; config: Values },
): Promise<Fault | undefined> {
  if (kind !== "internal") return;
  const authority = await findStored(tx, organizationId, String(config.authorityId), "share");
  if (!authority) return { invalid: "body.config.authorityId is of no authority of this organization." };
  const fault = issuingFault(deps, authority);
  if (fault) return { inTheWay: `${fault} Name another one in body.config.authorityId, or try again when it issues.` };
  if (authority.profiles.length === 0)
    return { invalid: `body.config.authorityId is of the authority "${authority.name}", which has no profiles and issues no certificates of hosts.` };
  const names = authority.profiles.map(({ name }) => name).join(", ");
  if (!findProfile(authority.profiles, config.profile === undefined ? null : String(config.profile)))
    return { invalid: `body.config.profile is of no profile of the authority "${authority.name}", which has ${names}.` };
}
