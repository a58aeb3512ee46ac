import { rootCertificates } from "node:tls";
import type { Logger } from "pino";
import { mintToken } from "#auth/mint-token";
import type { Config } from "#config";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { listExpiring } from "#modules/certificates/certificates/queries/certificates";
import { importCertificates } from "#modules/certificates/certificates/services/import";
import { addAdmin } from "#modules/people/members/queries";
import { createOrganization } from "#modules/people/organizations/queries";
import { grantPlatformAdmin, saveUser } from "#modules/people/users/queries";
import { addContent } from "./content";
import { mint } from "./mint";
import { describeAgent } from "./this-machine";

const ORGANIZATION = "0193b3c0-0000-7000-8000-00000000d350";
const USER = "0193b3c0-0000-7000-8000-0000000000ad";
const EMAIL = "demo@certitude.example";
const DAY = 86_400_000;
const SERVICES = ["www", "api", "mail", "vpn", "git", "wiki", "shop", "pay", "auth", "status", "db", "cache"];

/**
 * Returns true where programs on this machine may vouch for organizations by headers alone while the demo runs: no
 * gateway is named, and no organization but the demo's own is there. To be asked before the server listens.
 */
export async function mayTrustLocalPrograms({ trustedGateways }: Pick<Config, "trustedGateways">, sql: Sql, log: Pick<Logger, "info" | "warn">) {
  if (trustedGateways.length > 0) {
    log.info("the demo trusts nobody else by organization headers alone: TRUSTED_GATEWAYS names who is trusted");
    return false;
  }
  const [other] = await sql`select 1 from organizations where id <> ${ORGANIZATION} limit 1`;
  if (other) log.warn("the demo trusts nobody by organization headers alone: the database holds other organizations than the demo's");
  else log.warn("the demo trusts programs on this machine (127.0.0.1, ::1) by organization headers alone: put no proxy in front of it");
  return !other;
}

/** Makes the demo organization once; answers what to try, as text for a person. Its token needs JWT_SECRET. */
export async function startDemo(deps: Deps, url: URL) {
  const { sql, config } = deps;
  const by = { actor: { type: "command-line" as const }, requestId: null };
  const scope = { ...by, organizationId: ORGANIZATION };
  await saveUser(sql, { userId: USER, email: EMAIL, name: "Demo Admin" });
  await grantPlatformAdmin(sql, USER, true);
  await createOrganization(sql, { id: ORGANIZATION, name: "Demo Organization" }, by);
  await addAdmin(sql, scope, { userId: USER, email: EMAIL });
  const token = (await mintToken(deps, { user: USER, email: EMAIL, ttl: 86_400 })) ?? "";
  if (!(await isComplete(sql))) {
    const chains = makeChains(deps.clock());
    await importCertificates(sql, config.keyring, scope, { pem: [...rootCertificates, ...chains.flat().map((each) => each.pem)].join("\n") });
    await addContent(
      { base: url.origin, token, user: USER, organization: ORGANIZATION },
      chains.map(([, , root]) => root.pem),
      config.dataDir,
    );
  }
  return describe(url.origin, await firstExpiring(deps), token) + describeAgent(url.origin, config.dataDir);
}

/** The dashboard is made last. */
async function isComplete(sql: Deps["sql"]) {
  const [row] = await sql`select 1 from widgets where organization_id = ${ORGANIZATION} limit 1`;
  return row !== undefined;
}

async function firstExpiring(deps: Deps) {
  const { items } = JSON.parse(await listExpiring(deps.sql, ORGANIZATION, 1, deps.clock()));
  return items[0].certificateId as string;
}

/** A dozen services, each with a chain of its own: leaves that expire within weeks under an intermediate and a root. */
function makeChains(now: Date) {
  const at = (days: number) => new Date(now.getTime() + days * DAY);
  return SERVICES.map((service, index) => {
    const root = mint({ commonName: `Demo Root ${service}`, isCa: true, notBefore: at(-30), notAfter: at(365 + index) });
    const intermediate = mint({ commonName: `Demo Issuing CA ${service}`, issuer: root, isCa: true, notBefore: at(-20), notAfter: at(120 + index) });
    const host = `${service}.certitude.example`;
    const leaf = mint({ commonName: host, dns: [host], issuer: intermediate, notBefore: at(-10), notAfter: at(2 + index * 4) });
    return [leaf, intermediate, root] as const;
  });
}

function describe(base: string, certificateId: string, token: string) {
  const user = `-H "authorization: Bearer ${token}"`;
  const organization = `-H "x-organization-id: ${ORGANIZATION}" -H "x-organization-role: ORG_ADMIN"`;
  return `
  Certitude is ready at ${base}
  Documentation: ${base}/swagger

  Which certificates expire next?
  curl -s ${user} ${organization} ${base}/organizations/${ORGANIZATION}/certs/monitoring/top-expiring

  Read one, with its chain:
  curl -s ${user} ${base}/portal/organizations/${ORGANIZATION}/certificates/${certificateId}

  Who am I?
  curl -s ${user} ${base}/users/me
`;
}
