import { isIP } from "node:net";
import { getDomain } from "tldts";
import type { Name } from "#modules/issuance/issuing/rules/driver";

/** The registered domain of a name, with those of private suffixes; a name that has none, and an address, stand for themselves. */
export function domainOf(name: string) {
  const base = name.replace(/^\*\./, "");
  return getDomain(base, { allowPrivateDomains: true }) ?? base;
}

/** How long after a certificate has expired its domain still belongs to the organization. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Returns the domains that a certificate for these names proves (only those that DNS has), until some time after its end.
 * Addresses prove nothing.
 */
export function claimOf(names: readonly Name[], provenByDns: readonly string[], notAfter: Date) {
  const domains = [...new Set(names.flatMap(({ type, value }) => (type === "dns" ? domainOf(value) : [])))];
  return { domains, provenByDns: domains.filter((each) => provenByDns.includes(each)), until: new Date(notAfter.getTime() + KEPT_MS) };
}

/** Why names of this domain are not proven over HTTP, and what to do. It does not say which organization has the domain. */
export const describeForeign = (name: string, domain: string) =>
  `${name} cannot be proven by http-01: another organization of this server has ${domain}. Prove ${domain} itself by dns-01, which moves it here, prove ${name} by dns-01, or ask the platform's staff to move or share ${domain}.`;

/** How an organization stands to a domain: who has it, and whether the server has no other organization. */
export type Standing = { organizationId: string; holder: { organizationId: string | null; isDecided: boolean } | null; isAlone: boolean };

/**
 * Returns why an organization must not prove a name of this domain over HTTP; undefined where it may. The server's names
 * (`own`), their domains and addresses are for the organization that staff names.
 */
export function findHttpFault(name: string, domain: string, { organizationId, holder, isAlone }: Standing, own: readonly string[]) {
  if (holder && holder.organizationId !== null && holder.organizationId !== organizationId) return describeForeign(name, domain);
  const isNamed = holder?.isDecided === true && holder.organizationId === organizationId;
  if (isAlone || isNamed) return;
  if (isIP(name) !== 0 || own.includes(name)) return describeOwn(name, domain);
  return holder?.isDecided || !own.some((each) => domainOf(each) === domain) ? undefined : describeOwn(name, domain);
}

const describeOwn = (name: string, domain: string) =>
  `${name} cannot be proven by http-01: it leads to this server itself, which several organizations share. ${isIP(name) === 0 ? "Prove it by dns-01, or ask" : "Ask"} the platform's staff to name this organization for ${domain}.`;
