import type { Logger } from "pino";
import { mintToken } from "#auth/mint-token";
import type { Config } from "#config";
import type { Sql } from "#db/connect";
import type { Deps, Handle } from "#deps";
import { addAdmin } from "#modules/people/members/queries/members";
import { createOrganization } from "#modules/people/organizations/queries";
import { grantPlatformAdmin, saveUser } from "#modules/people/users/queries";
import { addCertificates } from "./chains";
import { createClient } from "./client";
import { addContent, LAST_WIDGET } from "./content";
import { showProgress } from "./progress";
import { reachAt } from "./reach";
import { summarize } from "./summary";

const ORGANIZATION = "0193b3c0-0000-7000-8000-00000000d350";
const USER = "0193b3c0-0000-7000-8000-0000000000ad";
const EMAIL = "demo@certitude.example";
/** Of the demo's own token, in seconds. */
const TOKEN_TTL = 3_600;

/**
 * Returns whether programs on this machine may vouch for organizations by headers alone: no gateway is named, and the demo's
 * organization is the only one. Ask before the server listens.
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

type Running = { deps: Deps; app: { handle: Handle }; url: URL };

/** Makes the demo organization once, and prints what to try, last of all. Rejects when `signal` is aborted meanwhile. */
export async function showDemo({ deps, app, url }: Running, signal: AbortSignal) {
  const progress = showProgress();
  const reach = reachAt(url, deps.config.tls);
  const demo = { organizationId: ORGANIZATION, userId: USER, email: EMAIL, base: reach.base };
  await fillDemo(deps, app.handle, demo, progress.step, signal).finally(progress.end);
  deps.log.flush();
  const consoleUrl = `${reach.base}/console/#/enter/${deps.oneTimeCodes.issue({ user: USER, email: EMAIL })}`;
  console.info(summarize({ ...demo, ...reach, consoleUrl, config: deps.config }));
}

export type Demo = { organizationId: string; userId: string; email: string; base: string };

/** Fills the organization, unless it was filled before. One that was interrupted is completed: nothing is made twice. */
export async function fillDemo(deps: Deps, handle: Handle, demo: Demo, step: (name: string) => void, signal: AbortSignal) {
  const { organizationId, userId, email, base } = demo;
  if (await isComplete(deps.sql, organizationId)) return;
  const by = { actor: { type: "command-line" as const }, requestId: null };
  const scope = { ...by, organizationId };
  step("certificates");
  await saveUser(deps.sql, { userId, email, name: "Demo Admin" });
  await grantPlatformAdmin(deps.sql, deps.stamps, userId, true);
  await createOrganization(deps.sql, { id: organizationId, name: "Demo Organization" }, by);
  await addAdmin(deps.sql, deps.stamps, scope, { userId, email });
  const roots = await addCertificates(deps, scope);
  const token = (await mintToken(deps, { user: userId, email, ttl: TOKEN_TTL })) ?? "";
  const client = createClient(handle, base, { organizationId, userId, token }, signal);
  await addContent(client, roots, { organizationId, userId, dataDir: deps.config.dataDir }, step);
}

/** The audit trail says so, whatever was deleted since. */
async function isComplete(sql: Sql, organizationId: string) {
  const [row] = await sql`
    select 1 from audit_events where organization_id = ${organizationId} and action = 'widget.created' and details->>'title' = ${LAST_WIDGET} limit 1`;
  return row !== undefined;
}
