import { rootCertificates } from "node:tls";
import { arrayOf } from "#db/connect";
import type { Deps } from "#deps";
import { importCertificates } from "#modules/certificates/certificates/services/import";
import type { Scope } from "#modules/people/audit/queries";
import { mint } from "./mint";

const DAY = 86_400_000;
const SERVICES = ["www", "api", "mail", "vpn", "git", "wiki", "shop", "pay", "auth", "status", "db", "cache"];

const rootName = (service: string) => `Demo Root ${service}`;

/**
 * Imports the Mozilla roots and a new chain for each service, once and in one transaction: keys are not kept, so a chain
 * cannot be completed later. Returns the ids of the chains' roots.
 */
export async function addCertificates({ sql, config, stamps, clock }: Pick<Deps, "sql" | "config" | "stamps" | "clock">, scope: Scope) {
  const known = await findRoots();
  if (known.length > 0) return known;
  await sql.begin((tx) =>
    importCertificates(tx, { keyring: config.keyring, stamps }, scope, { pem: [...rootCertificates, ...makeChains(clock())].join("\n") }),
  );
  return findRoots();

  async function findRoots() {
    const rows = await sql<{ id: string }[]>`
      select id from certificates where organization_id = ${scope.organizationId} and common_name = any(${arrayOf(SERVICES.map(rootName))})
      order by not_after`;
    return rows.map((each) => each.id);
  }
}

/** For each service a chain of its own: a leaf that expires within weeks under an intermediate and a root. */
function makeChains(now: Date) {
  const at = (days: number) => new Date(now.getTime() + days * DAY);
  return SERVICES.flatMap((service, index) => {
    const root = mint({ commonName: rootName(service), isCa: true, notBefore: at(-30), notAfter: at(365 + index) });
    const intermediate = mint({ commonName: `Demo Issuing CA ${service}`, issuer: root, isCa: true, notBefore: at(-20), notAfter: at(120 + index) });
    const host = `${service}.certitude.example`;
    const leaf = mint({ commonName: host, dns: [host], issuer: intermediate, notBefore: at(-10), notAfter: at(2 + index * 4) });
    return [leaf, intermediate, root].map((each) => each.pem);
  });
}
