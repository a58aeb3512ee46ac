import { isSecureUrl } from "./secure-url";

type Settings = Record<"oidcIssuer" | "jwtAudience" | "oidcClientId", string | undefined>;

/** Returns the faults of OIDC_ISSUER and its companions, a sentence each. */
export function providerFaults({ oidcIssuer, jwtAudience, oidcClientId }: Settings) {
  if (!oidcIssuer) return oidcClientId ? ["OIDC_CLIENT_ID needs OIDC_ISSUER: at which provider is the console a client?"] : [];
  const isOpen = URL.canParse(oidcIssuer) && !isSecureUrl(oidcIssuer);
  return [
    ...(isOpen ? ["OIDC_ISSUER must be https; http only on this machine (localhost, 127.0.0.0/8, [::1])."] : []),
    ...(jwtAudience ? [] : ["JWT_AUDIENCE is required with OIDC_ISSUER: without it the provider's tokens for any other application would count."]),
  ];
}
