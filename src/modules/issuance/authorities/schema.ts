import { t } from "elysia";
import { Answer, Body, BodyId, CreatedAt, DateTime, Id, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Uuid, Version } from "#http/schema";
import { LIFETIME, USAGES } from "./rules/profiles";

export const KEY_ALGORITHMS = ["ecdsa-p256", "ecdsa-p384", "rsa-2048", "rsa-3072", "rsa-4096"] as const;
const WAYS = ["root", "issuing", "imported", "requested"] as const;
const KINDS = ["root", "issuing"] as const;
const STATUSES = ["pending", "active", "disabled", "expired", "revoked"] as const;

const EXAMPLE_PEM = "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n";
const EXAMPLE_SUBJECT = { commonName: "Example Root CA", organization: "Example", country: "DE" };
const EXAMPLE_CONSTRAINTS = { permittedDomains: ["example.com"], excludedAddresses: ["0.0.0.0/0", "::/0"] };
const EXAMPLE_PROFILE = { name: "server", usage: "server" };
const FULL_CONSTRAINTS = { excludedDomains: [], permittedAddresses: [], ...EXAMPLE_CONSTRAINTS };
const FULL_PROFILE = {
  ...EXAMPLE_PROFILE,
  defaultLifetimeSeconds: 7_776_000,
  maxLifetimeSeconds: 34_387_200,
  allowedDomains: null,
  allowedAddresses: null,
  allowsWildcards: false,
};

const Name = Text({ description: "What people call it", examples: ["Issuing CA"] });
const KeyAlgorithm = (options = {}) => OneOf(KEY_ALGORITHMS, { description: "What its key is; ecdsa-p256 unless said", ...options });
const Attribute = (description: string, example: string) => Text({ max: 64, description, examples: [example] });
const Subject = Body(
  {
    commonName: Attribute("CN", EXAMPLE_SUBJECT.commonName),
    organization: t.Optional(Attribute("O", EXAMPLE_SUBJECT.organization)),
    organizationalUnit: t.Optional(Attribute("OU", "Security")),
    country: t.Optional(t.String({ pattern: "^[A-Z]{2}$", description: "C: two capital letters (ISO 3166)", examples: [EXAMPLE_SUBJECT.country] })),
  },
  { title: "AuthoritySubject", description: "The name that its certificates show it by", examples: [EXAMPLE_SUBJECT] },
);

const List = (description: string, examples: string[][]) => t.Array(Text({ max: 253 }), { maxItems: 100, description, examples });
const lists = {
  permittedDomains: List("Domains, each with all below it: no other may be certified", [["example.com"]]),
  excludedDomains: List("Domains that must not be certified, nor any below them", [[]]),
  permittedAddresses: List("Address ranges: no other address may be certified", [[]]),
  excludedAddresses: List("Address ranges that must not be certified", [["0.0.0.0/0", "::/0"]]),
};
const NameConstraints = Body(
  {
    permittedDomains: t.Optional(lists.permittedDomains),
    excludedDomains: t.Optional(lists.excludedDomains),
    permittedAddresses: t.Optional(lists.permittedAddresses),
    excludedAddresses: t.Optional(lists.excludedAddresses),
  },
  {
    title: "NewNameConstraints",
    description: "RFC 5280, 4.2.1.10. Without permitted domains any domain may be certified, without permitted addresses any address.",
    examples: [EXAMPLE_CONSTRAINTS],
  },
);

const Lifetime = (description: string, example: number) => Integer({ minimum: LIFETIME.min, maximum: LIFETIME.max, description, examples: [example] });
const lifetimes = {
  defaultLifetimeSeconds: Lifetime("How long a certificate lives where nothing is said; 90 days unless said", LIFETIME.default),
  maxLifetimeSeconds: Lifetime("How long one may live; 398 days unless said", LIFETIME.defaultMax),
};
const allowed = {
  allowedDomains: Nullable(List("Domains, each with all below it; null allows any", [["example.com"]])),
  allowedAddresses: Nullable(List("Address ranges; null allows any", [["10.0.0.0/8"]])),
  allowsWildcards: t.Boolean({ description: "Whether names such as *.example.com may be certified; no unless said", examples: [false] }),
};
const profile = {
  name: Text({ max: 64, description: "What a request names it by", examples: ["server"] }),
  usage: OneOf(USAGES, { description: "Extended key usage: serverAuth, clientAuth or both" }),
};
const NewProfile = Body(
  {
    ...profile,
    defaultLifetimeSeconds: t.Optional(lifetimes.defaultLifetimeSeconds),
    maxLifetimeSeconds: t.Optional(lifetimes.maxLifetimeSeconds),
    allowedDomains: t.Optional(allowed.allowedDomains),
    allowedAddresses: t.Optional(allowed.allowedAddresses),
    allowsWildcards: t.Optional(allowed.allowsWildcards),
  },
  { title: "NewIssuanceProfile", examples: [EXAMPLE_PROFILE] },
);
const Profiles = t.Array(NewProfile, {
  maxItems: 20,
  description: "What it issues, the first one where none is named; unless said server, client and both, with none of them where an issuing CA is made below it",
  examples: [[EXAMPLE_PROFILE]],
});
const PublicUrl = t.String({
  maxLength: 200,
  pattern: "^https?://[A-Za-z0-9._~%:/\\[\\]-]+$",
  description: "What the addresses in its certificates begin with: http or https. PUBLIC_URL unless said, or the address of this request",
  examples: ["http://pki.example.com"],
});

const made = {
  name: Name,
  subject: t.Optional(Subject),
  keyAlgorithm: t.Optional(KeyAlgorithm()),
  lifetimeDays: t.Optional(Integer({ minimum: 1, maximum: 36_500, description: "3650 unless said, of an issuing CA 1825", examples: [3_650] })),
  pathLength: t.Optional(
    Integer({ minimum: 0, maximum: 10, description: "How many authorities may stand below it; of an issuing CA 0 unless said", examples: [1] }),
  ),
  nameConstraints: t.Optional(NameConstraints),
  profiles: t.Optional(Profiles),
};

export const NewAuthority = Body(
  {
    ...made,
    kind: OneOf(WAYS, {
      description:
        "root: a new root. issuing: below parentId. imported: pem and privateKeyPem. requested: a key and a request for an authority elsewhere, to be signed there and sent to …/certificate.",
      examples: ["root"],
    }),
    parentId: t.Optional(BodyId({ description: "The authority that signs a new issuing CA" })),
    issuing: t.Optional(Body(made, { title: "NewIssuingAuthority", description: "An issuing CA that is made below a new root at once" })),
    pem: t.Optional(Text({ max: 200_000, description: "The certificate of a CA that is imported, then those above it" })),
    privateKeyPem: t.Optional(Text({ max: 20_000, description: "Its unencrypted private key; it is sealed and never returned" })),
    publicUrl: t.Optional(PublicUrl),
  },
  {
    title: "NewAuthority",
    examples: [
      { kind: "root", name: "Root CA", subject: EXAMPLE_SUBJECT, keyAlgorithm: "ecdsa-p256", lifetimeDays: 3_650, nameConstraints: EXAMPLE_CONSTRAINTS },
    ],
  },
);
export type NewAuthority = typeof NewAuthority.static;
export type NewIssuing = NonNullable<NewAuthority["issuing"]>;

export const AuthorityPatch = Body(
  {
    name: t.Optional(Name),
    enabled: t.Optional(t.Boolean({ description: "Whether it issues; what is published goes on", examples: [false] })),
    profiles: t.Optional({ ...Profiles, description: "All of them: they replace those before" }),
    publicUrl: t.Optional({ ...PublicUrl, description: "What the addresses in certificates begin with that it issues from now on" }),
  },
  { title: "AuthorityPatch", minProperties: 1 },
);

export const SignedCertificate = Body(
  { pem: Text({ max: 200_000, description: "The certificate that was made of the request, then those above it", examples: [EXAMPLE_PEM] }) },
  { title: "SignedCertificate" },
);

const Address = (path: string, description: string) =>
  t.String({ description, examples: [`http://pki.example.com/pki/0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c03/${path}`] });
const shown = {
  id: Id,
  organizationId: OrganizationId,
  name: t.String({ description: "What people call it", examples: ["Root CA"] }),
  kind: OneOf(KINDS, { description: "issuing: another authority has signed its certificate" }),
  status: OneOf(STATUSES, { description: "pending: the certificate of its request is awaited. Only an active one issues", examples: ["active"] }),
  parentId: Nullable({ ...Uuid, description: "The authority above it, where that is one of the organization" }),
  subject: t.String({ description: "RFC 4514", examples: ["CN=Example Root CA,O=Example,C=DE"] }),
  keyAlgorithm: KeyAlgorithm({ description: "What its key is" }),
  certificateId: Nullable({ ...Uuid, description: "Its certificate among those of the organization" }),
  certificatePem: Nullable(t.String({ description: "Null while it is pending", examples: [EXAMPLE_PEM] })),
  chainPem: t.String({ description: "The authorities above it, the nearest first, without the root", examples: [""] }),
  requestPem: Nullable(
    t.String({ description: "PKCS #10, while it is pending", examples: ["-----BEGIN CERTIFICATE REQUEST-----\nMIIB…\n-----END CERTIFICATE REQUEST-----\n"] }),
  ),
  pathLength: Nullable(Integer({ description: "How many authorities may stand below it; null: any number", examples: [1] })),
  nameConstraints: t.Array(Answer(lists, { title: "NameConstraints", examples: [FULL_CONSTRAINTS] }), {
    description: "Its own and those above it: a name must satisfy each",
  }),
  notBefore: Nullable({ ...DateTime, description: "Of its certificate: the first moment" }),
  notAfter: Nullable({ ...DateTime, description: "Of its certificate: the last moment" }),
  profiles: t.Array(Answer({ ...profile, ...lifetimes, ...allowed }, { title: "IssuanceProfile", examples: [FULL_PROFILE] }), {
    description: "What it issues, the first one where none is named",
  }),
  publicUrl: t.String({ description: "What the three addresses begin with, as its next certificates name them", examples: ["http://pki.example.com"] }),
  certificateUrl: Address("ca.crt", "Where anybody may read its certificate"),
  crlUrl: Address("crl", "Where anybody may read its revocation list"),
  ocspUrl: Address("ocsp", "Where its OCSP responder answers anybody"),
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

export const Authority = Answer(shown, { title: "Authority", description: "A certificate authority of the organization" });
export const CreatedAuthority = Answer(
  { ...shown, issuing: t.Optional(Authority) },
  { title: "CreatedAuthority", description: "With the issuing CA that was made below it, where one was asked for" },
);
