import { getDomain } from "tldts";
import type { Name } from "#modules/issuance/requests/rules/driver";

/** The registered domain of a name, with those of private suffixes; a name that has none, and an address, stand for themselves. */
export function domainOf(name: string) {
  const base = name.replace(/^\*\./, "");
  return getDomain(base, { allowPrivateDomains: true }) ?? base;
}

/** How long after a certificate has expired its domain still belongs to the organization. */
const KEPT_MS = 30 * 86_400_000;

/** What a certificate for these names proves: the domains of those that DNS has, until some time after its end. Addresses prove nothing. */
export function claimOf(names: readonly Name[], provenByDns: readonly string[], notAfter: Date) {
  const domains = [...new Set(names.flatMap(({ type, value }) => (type === "dns" ? domainOf(value) : [])))];
  return { domains, provenByDns: domains.filter((each) => provenByDns.includes(each)), until: new Date(notAfter.getTime() + KEPT_MS) };
}

/** Why names of this domain are not proven over HTTP, and what to do. It does not tell which organization has the domain. */
export const describeForeign = (name: string, domain: string) =>
  `${name} cannot be proven by http-01: another organization of this server has ${domain}. Prove ${domain} itself by dns-01, which moves it here, prove ${name} by dns-01, or ask the platform's staff to move or share ${domain}.`;
