import { describeLeft, describeMoment, type EventGroup, type KindOf, nameFirst } from "./kind";

/** `hasIssuer`: an issuer renews it; older events do not say. */
type ExpiryFacts = { commonName: string; notAfter: string; days: number; hasIssuer?: boolean };
type CertificateFacts = { commonName: string };

const path = {
  one: (id: string) => `/certificates/${id}`,
  many: ({ items }: EventGroup<ExpiryFacts>) => `/certificates?expiresBefore=${items.at(-1)?.notAfter ?? ""}`,
};
const listed = { one: path.one, many: () => "/certificates" };
const names = ({ items, count }: EventGroup<CertificateFacts>) =>
  `${nameFirst(
    items.map(({ commonName }) => commonName),
    count,
  )}.`;
const end = ({ items: [first] }: EventGroup<ExpiryFacts>) => first?.notAfter ?? "";

const expiring: KindOf<ExpiryFacts> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "certificate expiry", repeats: true },
  groupBy: ({ days }) => days,
  orderBy: ({ notAfter }) => notAfter,
  one: ({ commonName, notAfter, hasIssuer }, now) => ({
    title: `${commonName} expires ${describeLeft(notAfter, now)}`,
    message: `The certificate ${commonName} expires on ${describeMoment(notAfter)}.${hasIssuer === false ? " No issuer renews it." : ""}`,
  }),
  many: (group) => ({
    title: `${group.count} certificates expire soon, the first ${describeLeft(end(group), group.now)}`,
    message: `${names(group)} The first expires on ${describeMoment(end(group))}.${group.items.every(({ hasIssuer }) => hasIssuer === false) ? " No issuer renews them." : ""}`,
  }),
  path,
  example: { commonName: "www.example.com", notAfter: "2030-01-15T12:00:00.000Z", days: 14 },
};

const expired: KindOf<ExpiryFacts> = {
  ...expiring,
  severity: "critical",
  begins: { condition: "certificate expiry", repeats: true, endsSnooze: true },
  one: ({ commonName, notAfter }) => ({
    title: `${commonName} has expired`,
    message: `The certificate ${commonName} expired on ${describeMoment(notAfter)}.`,
  }),
  many: (group) => ({
    title: `${group.count} certificates have expired`,
    message: `${names(group)} The first expired on ${describeMoment(end(group))}.`,
  }),
  example: { ...expiring.example, days: 0 },
};

const renewed: KindOf<CertificateFacts & { notAfter: string }> = {
  severity: "info",
  audience: "ORG_ADMIN",
  mail: "daily",
  ends: { condition: "certificate expiry" },
  one: ({ commonName, notAfter }) => ({
    title: `${commonName} was renewed`,
    message: `The certificate ${commonName} has a successor, which is valid until ${describeMoment(notAfter)}.`,
  }),
  many: (group) => ({ title: `${group.count} certificates were renewed`, message: names(group) }),
  path: listed,
  example: { commonName: "www.example.com", notAfter: "2030-03-01T12:00:00.000Z" },
};

const revoked: KindOf<CertificateFacts & { reason: string }> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  ends: { condition: "certificate expiry", always: true },
  one: ({ commonName, reason }) => ({ title: `${commonName} was revoked`, message: `The certificate ${commonName} was revoked: ${reason}.` }),
  many: (group) => ({ title: `${group.count} certificates were revoked`, message: names(group) }),
  path: listed,
  example: { commonName: "www.example.com", reason: "keyCompromise" },
};

const revocationFailed: KindOf<CertificateFacts & { reason: string }> = {
  severity: "critical",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "certificate revocation failure" },
  one: ({ commonName, reason }) => ({
    title: `The CA has not revoked ${commonName}`,
    message: `The certificate ${commonName} was revoked here, but its CA could not revoke it, so that others may trust it still. It is tried again. ${reason}`,
  }),
  many: (group) => ({ title: `CAs have not revoked ${group.count} certificates`, message: `${names(group)} It is tried again.` }),
  path: { one: path.one, many: () => "/revocations?state=failing" },
  example: { commonName: "www.example.com", reason: "The CA could not be asked." },
};

type RequestFacts = { requestId: string; name: string };
const requested = ({ items, count }: EventGroup<RequestFacts>) =>
  `${nameFirst(
    items.map(({ name }) => name),
    count,
  )}.`;

const requestFailed: KindOf<RequestFacts & { reason: string }> = {
  severity: "critical",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "certificate request failure", repeats: true },
  one: ({ name, reason }) => ({ title: `No certificate was issued for ${name}`, message: `The certificate request for ${name} failed. ${reason}` }),
  many: (group) => ({ title: `${group.count} certificate requests failed`, message: requested(group) }),
  path: { one: (_, { requestId }) => `/certificate-requests/${requestId}`, many: () => "/certificate-requests?status=failed" },
  example: { requestId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01", name: "www.example.com", reason: "The issuer refused the name." },
};

const awaited: KindOf<RequestFacts> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "certificate request approval" },
  one: ({ name }) => ({
    title: `A certificate for ${name} waits for an approval`,
    message: `The certificate request for ${name} begins once another admin than its author has approved it.`,
  }),
  many: (group) => ({ title: `${group.count} certificate requests wait for an approval`, message: requested(group) }),
  path: { one: (id) => `/certificate-requests/${id}`, many: () => "/certificate-requests?status=pending" },
  example: { requestId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01", name: "www.example.com" },
};

const policyAwaited: KindOf<Record<string, never>> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "issuance policy approval" },
  one: () => ({
    title: "A proposed issuance policy waits for an approval",
    message: "It allows more than the one in force, and counts once another admin than who proposed it has approved it.",
  }),
  many: ({ count }) => ({
    title: `${count} proposed issuance policies wait for an approval`,
    message: "The newest alone can be approved: each took the place of the one before.",
  }),
  path: { one: () => "/issuance-policy", many: () => "/issuance-policy" },
  example: {},
};

const issued: KindOf<RequestFacts & { certificateId: string; notAfter: string }> = {
  severity: "info",
  audience: "ORG_ADMIN",
  mail: "daily",
  ends: { condition: "certificate request failure", always: true },
  one: ({ name, notAfter }) => ({
    title: `A certificate was issued for ${name}`,
    message: `A certificate for ${name} was issued, which is valid until ${describeMoment(notAfter)}.`,
  }),
  many: (group) => ({ title: `${group.count} certificates were issued`, message: requested(group) }),
  path: { one: (_, { certificateId }) => `/certificates/${certificateId}`, many: () => "/certificate-requests?status=issued" },
  example: {
    requestId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
    certificateId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02",
    name: "www.example.com",
    notAfter: "2030-03-01T12:00:00.000Z",
  },
};

export const CERTIFICATE_KINDS = {
  certificate_expiring: expiring,
  certificate_expired: expired,
  certificate_renewed: renewed,
  certificate_revoked: revoked,
  certificate_revocation_failed: revocationFailed,
  certificate_request_failed: requestFailed,
  certificate_request_awaits_approval: awaited,
  issuance_policy_awaits_approval: policyAwaited,
  certificate_issued: issued,
};
