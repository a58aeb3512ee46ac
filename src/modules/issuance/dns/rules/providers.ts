import type { Field } from "#catalogue/fields";
import { ALGORITHMS } from "./algorithms";

export const PROVIDERS = ["rfc2136", "acme-dns", "httpreq", "cloudflare", "route53"] as const;
export type ProviderKey = (typeof PROVIDERS)[number];

type ProviderFields = {
  key: ProviderKey;
  displayName: string;
  docsUrl: string;
  /** Tried against a recorded or documented protocol, and not yet against the service itself. */
  isExperimental: boolean;
  configFields: Field[];
  /** No two providers, and nothing else of an issuer, share the name of one. */
  secretFields: Field[];
};

/** The fields of every provider: how names are looked up. */
const COMMON: Field[] = [
  {
    name: "followCname",
    type: "boolean",
    required: false,
    default: true,
    description: "Write the record where _acme-challenge leads by CNAME. false where a wildcard CNAME would lead elsewhere",
  },
  {
    name: "resolvers",
    type: "array<string>",
    required: false,
    description: "Addresses of resolvers that see names as the certificate authority does; the server's own without it",
  },
  {
    name: "nameservers",
    type: "array<string>",
    required: false,
    description: "Addresses of the name servers that must have the record, where they are not those that the zone's NS records name",
  },
];

const text = (name: string, required: boolean, description: string): Field => ({ name, type: "string", required, description });
const uri = (name: string, description: string, base?: string): Field => ({
  name,
  type: "uri",
  required: base === undefined,
  description,
  ...(base !== undefined && { default: base }),
});

export const CATALOGUE: readonly ProviderFields[] = [
  {
    key: "rfc2136",
    displayName: "DNS UPDATE (RFC 2136)",
    docsUrl: "https://datatracker.ietf.org/doc/html/rfc2136",
    isExperimental: false,
    configFields: [
      text("server", true, "The primary name server of the zone: a host or an address, with or without a port"),
      text("keyName", true, "Name of the TSIG key"),
      { name: "algorithm", type: "string", required: false, default: "hmac-sha256", enum: Object.keys(ALGORITHMS), description: "Algorithm of the TSIG key" },
      ...COMMON,
    ],
    secretFields: [text("tsigSecret", true, "Secret of the TSIG key in base64")],
  },
  {
    key: "acme-dns",
    displayName: "acme-dns",
    docsUrl: "https://github.com/joohoi/acme-dns",
    isExperimental: true,
    configFields: [
      uri("apiBaseUrl", "Address of the API of acme-dns"),
      text("subdomain", true, "subdomain of the registration"),
      text("fullDomain", true, "fulldomain of the registration, to which _acme-challenge must lead by CNAME"),
      text("username", true, "username of the registration"),
      ...COMMON,
    ],
    secretFields: [text("acmeDnsPassword", true, "password of the registration")],
  },
  {
    key: "httpreq",
    displayName: "HTTP request (lego's httpreq)",
    docsUrl: "https://go-acme.github.io/lego/dns/httpreq/",
    isExperimental: true,
    configFields: [
      uri("apiBaseUrl", "Address below which /present and /cleanup are"),
      { name: "mode", type: "string", required: false, default: "default", enum: ["default", "RAW"], description: "RAW sends domain, token and keyAuth" },
      text("username", false, "User of basic authentication"),
      ...COMMON,
    ],
    secretFields: [text("httpreqPassword", false, "Password of basic authentication")],
  },
  {
    key: "cloudflare",
    displayName: "Cloudflare",
    docsUrl: "https://developers.cloudflare.com/api/resources/dns/subresources/records/",
    isExperimental: true,
    configFields: [
      uri("apiBaseUrl", "Address of the API", "https://api.cloudflare.com/client/v4"),
      text("zoneId", false, "Zone that all names are in; looked up by its name without it"),
      ...COMMON,
    ],
    secretFields: [text("cloudflareApiToken", true, "API token that may edit DNS (and read zones, without zoneId)")],
  },
  {
    key: "route53",
    displayName: "Amazon Route 53",
    docsUrl: "https://docs.aws.amazon.com/Route53/latest/APIReference/",
    isExperimental: true,
    configFields: [
      uri("apiBaseUrl", "Address of the API", "https://route53.amazonaws.com"),
      text("accessKeyId", true, "Access key that may list and change record sets (and list hosted zones, without hostedZoneId)"),
      text("hostedZoneId", false, "Hosted zone that all names are in; looked up by its name without it"),
      ...COMMON,
    ],
    secretFields: [
      text("awsSecretAccessKey", true, "Secret of the access key"),
      text("awsSessionToken", false, "Session token, where the credentials are temporary"),
    ],
  },
];

export const EXPERIMENTAL = CATALOGUE.flatMap(({ key, isExperimental }) => (isExperimental ? key : []));

export function providerOf(key: string): ProviderFields {
  const found = CATALOGUE.find((each) => each.key === key);
  if (!found) throw new Error(`There is no DNS provider ${key} in the catalogue.`);
  return found;
}
