import { describeMoment, type KindOf, nameFirst } from "./kind";

type MemberFacts = { name: string; role: string };

const ofMember = { severity: "info", audience: "ORG_ADMIN", path: { one: () => "/members", many: () => "/members" } } as const;

const invited: KindOf<MemberFacts> = {
  ...ofMember,
  mail: "off",
  one: ({ name, role }) => ({ title: `${name} was invited`, message: `${name} was invited as ${role}.` }),
  many: ({ items, count }) => ({
    title: `${count} people were invited`,
    message: `${nameFirst(
      items.map(({ name }) => name),
      count,
    )}.`,
  }),
  example: { name: "Grace Hopper", role: "ORG_MEMBER" },
};

const joined: KindOf<MemberFacts> = {
  ...ofMember,
  mail: "daily",
  one: ({ name, role }) => ({ title: `${name} is a member now`, message: `${name} accepted the invitation, as ${role}.` }),
  many: ({ items, count }) => ({
    title: `${count} people are members now`,
    message: `${nameFirst(
      items.map(({ name }) => name),
      count,
    )}.`,
  }),
  example: invited.example,
};

const connectionFailed: KindOf<{ name: string; reason: string }> = {
  severity: "critical",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "connection failure" },
  one: ({ name, reason }) => ({ title: `The connection ${name} fails`, message: `The connection ${name} fails. ${reason}` }),
  many: ({ items, count }) => ({
    title: `${count} connections fail`,
    message: `${nameFirst(
      items.map(({ name }) => name),
      count,
    )}.`,
  }),
  path: { one: (id) => `/core/connections/${id}`, many: () => "/core/connections" },
  example: { name: "Vault", reason: "It refused the credentials." },
};

type CredentialFacts = { credential: "API token" | "agent credential"; name: string; expiresAt: string; days: number };
const placeOf = ({ credential }: Pick<CredentialFacts, "credential">) => (credential === "API token" ? "/api-tokens" : "/agents");

const credentialExpiring: KindOf<CredentialFacts> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "credential expiry", repeats: true },
  groupBy: ({ credential, days }) => `${credential} ${days}`,
  orderBy: ({ expiresAt }) => expiresAt,
  one: ({ credential, name, expiresAt }) => ({
    title: `The ${credential} ${name} expires soon`,
    message: `The ${credential} ${name} expires on ${describeMoment(expiresAt)}.`,
  }),
  many: ({ items, count }) => ({
    title: `${count} ${items[0]?.credential}s expire soon`,
    message: `${nameFirst(
      items.map(({ name }) => name),
      count,
    )}.`,
  }),
  path: { one: (id, facts) => `${placeOf(facts)}/${id}`, many: ({ items: [first] }) => (first ? placeOf(first) : "/agents") },
  example: { credential: "API token", name: "ci", expiresAt: "2030-01-15T12:00:00.000Z", days: 7 },
};

const seatLimit: KindOf<{ seats: number }> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "seat limit" },
  one: ({ seats }) => ({ title: "Every seat is taken", message: `All ${seats} seats are taken: the next member cannot be invited.` }),
  many: ({ items }) => ({ title: "Every seat is taken", message: `All ${items[0]?.seats} seats are taken: the next member cannot be invited.` }),
  path: { one: () => "/members", many: () => "/members" },
  example: { seats: 25 },
};

export const PEOPLE_KINDS = {
  member_invited: invited,
  member_joined: joined,
  connection_failed: connectionFailed,
  credential_expiring: credentialExpiring,
  seat_limit_reached: seatLimit,
};
