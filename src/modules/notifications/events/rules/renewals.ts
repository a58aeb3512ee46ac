import { describeLeft, describeMoment, type EventGroup, type KindOf, nameFirst } from "./kind";

type RenewalFacts = { commonName: string; notAfter: string; reason?: string | null };

const because = (reason: string | null | undefined) => (reason ? ` ${reason}` : "");
const names = ({ items, count }: EventGroup<RenewalFacts>) =>
  `${nameFirst(
    items.map(({ commonName }) => commonName),
    count,
  )}.`;

const failed: KindOf<RenewalFacts> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "certificate renewal failure" },
  orderBy: ({ notAfter }) => notAfter,
  one: ({ commonName, notAfter, reason }) => ({
    title: `${commonName} could not be renewed`,
    message: `The certificate ${commonName} could not be renewed, and expires on ${describeMoment(notAfter)}. It is tried again.${because(reason)}`,
  }),
  many: (group) => ({ title: `${group.count} certificates could not be renewed`, message: `${names(group)} It is tried again.` }),
  path: { one: (id) => `/certificates/${id}`, many: () => "/renewals?state=failed" },
  example: { commonName: "www.example.com", notAfter: "2030-01-15T12:00:00.000Z", reason: "The CA does not issue for this name." },
};

const late: KindOf<RenewalFacts> = {
  ...failed,
  severity: "critical",
  begins: { condition: "certificate renewal delay" },
  one: ({ commonName, notAfter, reason }, now) => ({
    title: `The renewal of ${commonName} is late`,
    message: `The certificate ${commonName} should be renewed by now, and ${describeEnd(notAfter, now)}.${because(reason)}`,
  }),
  many: (group) => ({ title: `The renewals of ${group.count} certificates are late`, message: names(group) }),
  path: { one: (id) => `/certificates/${id}`, many: () => "/renewals?late=true" },
  example: { ...failed.example, reason: "It waits for the agent's key." },
};

const describeEnd = (notAfter: string, now: Date) =>
  Date.parse(notAfter) > now.getTime() ? `expires ${describeLeft(notAfter, now)}` : `expired on ${describeMoment(notAfter)}`;

export const RENEWAL_KINDS = { certificate_renewal_failed: failed, certificate_renewal_late: late };
