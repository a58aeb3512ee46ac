import { Elysia } from "elysia";
import { consolePage } from "#console/routes";
import { admission } from "#http/admission";
import { allowOrigins } from "#http/cors";
import { errors, type Router } from "#http/errors";
import { noteRoutes } from "#http/exchange";
import { guides } from "#http/guides/guides";
import { health } from "#http/health";
import { type HasNoQuery, refuseUnknownQuery } from "#http/known-query";
import { metricsPage } from "#http/metrics";
import { docs } from "#http/openapi/docs";
import { calendar, calendarLinks } from "#modules/certificates/calendar/routes";
import { certificates, monitoring, portal } from "#modules/certificates/certificates/routes";
import { expiryPolicy } from "#modules/certificates/expiry/routes";
import { connections } from "#modules/core/connections/routes";
import { kinds } from "#modules/core/kinds/routes";
import { widgets } from "#modules/core/widgets/routes";
import { agentAccess } from "#modules/fleet/agent-access/routes";
import { agentProtocol, keySuccessors } from "#modules/fleet/agent-protocol/routes";
import { agents, fleetOperations } from "#modules/fleet/agents/routes";
import { assignmentPolicies } from "#modules/fleet/assignment-policies/routes";
import { assignments } from "#modules/fleet/assignments/routes";
import { deployments } from "#modules/fleet/deployments/routes";
import { agentCredentials, joinTokens } from "#modules/fleet/join-tokens/routes";
import { rollouts } from "#modules/fleet/rollouts/routes";
import { rotations } from "#modules/fleet/rotations/routes";
import { signingKeys } from "#modules/fleet/signing-keys/routes";
import { trustStores } from "#modules/fleet/trust-stores/routes";
import { aiSystems, metricsIngest } from "#modules/governance/ai-systems/routes";
import { frameworkCatalogue, frameworkControls } from "#modules/governance/frameworks/routes";
import { ingestKeys } from "#modules/governance/ingest-keys/routes";
import { metricThresholds } from "#modules/governance/metric-thresholds/routes";
import { acmeChallenges } from "#modules/issuance/acme/routes";
import { authorities } from "#modules/issuance/authorities/routes";
import { domains } from "#modules/issuance/domains/routes";
import { issuers } from "#modules/issuance/issuers/routes";
import { pki } from "#modules/issuance/pki/routes";
import { issuancePolicy } from "#modules/issuance/policy/routes";
import { renewals } from "#modules/issuance/renewals/routes";
import { hostKeys } from "#modules/issuance/requests/routes/host-keys";
import { certificateRequests } from "#modules/issuance/requests/routes/requests";
import { revocations } from "#modules/issuance/revocations/routes";
import { chunks, documents, knowledge } from "#modules/knowledge/documents/routes";
import { files } from "#modules/knowledge/files/routes";
import { alerts } from "#modules/notifications/alerts/routes";
import { notificationRoutes } from "#modules/notifications/channels/routes";
import { notifications } from "#modules/notifications/inbox/routes";
import { unsubscribe } from "#modules/notifications/mail/routes";
import { notificationPreferences } from "#modules/notifications/preferences/routes";
import { apiTokens } from "#modules/people/api-tokens/routes";
import { audit, platformAudit } from "#modules/people/audit/routes";
import { invitations, members } from "#modules/people/members/routes";
import { organization, organizations } from "#modules/people/organizations/routes";
import { sessions } from "#modules/people/sessions/routes";
import { users } from "#modules/people/users/routes";
import { jobs } from "#modules/platform/jobs/routes";
import type { Deps } from "./deps";

/** The whole server, by audience. */
export function createApp(deps: Deps) {
  const router: Router & { hasNoQuery: HasNoQuery } = { methodsAt: () => [], hasNoQuery: () => false };
  // Elysia looks for the path at one index: 7, which is no path after https://, or 11, which no host of one to three characters
  // leaves after http://
  const app = new Elysia({ normalize: false, handler: { standardHostname: deps.config.tls !== undefined } })
    .use(noteRoutes())
    .use(errors(deps, router))
    .use(allowOrigins(deps.config.corsOrigins))
    .use(refuseUnknownQuery(router))
    .onParse({ as: "global" }, () => null) // guards read the body, after they know the caller
    .use(docs(deps))
    .use(consolePage(deps))
    .use(operations(deps))
    // users
    .use(users(deps))
    .use(sessions(deps))
    .use(portal(deps))
    .use(notificationArea(deps))
    .use(invitations(deps))
    // organizations
    .use(certificateArea(deps))
    .use(issuanceArea(deps))
    .use(trustStores(deps))
    .use(fleetArea(deps))
    .use(members(deps))
    .use(coreArea(deps))
    .use(governanceArea(deps))
    .use(knowledge(deps))
    .use(organizationArea(deps))
    // workers
    .use(chunks(deps))
    // holders of a link
    .use(files(deps))
    // agents
    .use(agentArea(deps))
    // senders of metrics
    .use(metricsIngest(deps))
    // platform staff
    .use(organizations(deps))
    .use(documents(deps))
    .use(frameworkCatalogue(deps))
    .use(platformArea(deps));
  router.methodsAt = createMethodLookup(app.routes);
  router.hasNoQuery = createQueryLookup(app.routes);
  return app;
}

/**
 * The areas are links of the chain above, because the compiler follows only so many. In a crowd those ahead of the admission
 * are answered too.
 */
const operations = (deps: Deps) => new Elysia().use(health(deps)).use(metricsPage(deps)).use(guides()).use(admission(deps));

const notificationArea = (deps: Deps) =>
  new Elysia().use(notifications(deps)).use(notificationPreferences(deps)).use(unsubscribe(deps)).use(alerts(deps)).use(notificationRoutes(deps));

const certificateArea = (deps: Deps) =>
  new Elysia().use(expiryPolicy(deps)).use(calendarLinks(deps)).use(calendar(deps)).use(certificates(deps)).use(monitoring(deps));

const issuanceArea = (deps: Deps) =>
  new Elysia()
    .use(authorities(deps))
    .use(pki(deps))
    .use(issuers(deps))
    .use(hostKeys(deps))
    .use(certificateRequests(deps))
    .use(issuancePolicy(deps))
    .use(renewals(deps))
    .use(revocations(deps))
    .use(acmeChallenges(deps));

const fleetArea = (deps: Deps) =>
  new Elysia()
    .use(agents(deps))
    .use(joinTokens(deps))
    .use(agentCredentials(deps))
    .use(signingKeys(deps))
    .use(assignments(deps))
    .use(assignmentPolicies(deps))
    .use(deployments(deps))
    .use(fleetOperations(deps))
    .use(rollouts(deps))
    .use(rotations(deps));

const coreArea = (deps: Deps) => new Elysia().use(kinds(deps)).use(connections(deps)).use(widgets(deps));

const governanceArea = (deps: Deps) => new Elysia().use(frameworkControls(deps)).use(aiSystems(deps)).use(metricThresholds(deps)).use(ingestKeys(deps));

/** The audit trail is last: it is for readers who rely on certificates, too. */
const organizationArea = (deps: Deps) => new Elysia().use(organization(deps)).use(apiTokens(deps)).use(audit(deps));

const agentArea = (deps: Deps) => new Elysia().use(agentProtocol(deps)).use(agentAccess(deps)).use(keySuccessors(deps));

const platformArea = (deps: Deps) => new Elysia().use(platformAudit(deps)).use(jobs(deps)).use(domains(deps));

export type App = ReturnType<typeof createApp>;

type Route = { method: string; path: string; hooks: { detail?: { hide?: boolean }; query?: unknown } };

function createMethodLookup(routes: Route[]): Router["methodsAt"] {
  const patterns = routes.map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}/?$`) }));
  return (path) => {
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map((each) => each.method);
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)))];
  };
}

/** Routes that are not in the document speak other protocols, whose callers add what they like. */
function createQueryLookup(routes: Route[]): HasNoQuery {
  const bare = new Set(routes.filter(({ hooks }) => !hooks?.detail?.hide && !hooks?.query).map(({ method, path }) => `${method} ${path}`));
  return (method, route) => bare.has(`${method} ${route}`);
}
