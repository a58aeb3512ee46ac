import { Elysia } from "elysia";
import { allowOrigins } from "#http/cors";
import { errors, type Router } from "#http/errors";
import { noteRoutes } from "#http/exchange";
import { health } from "#http/health";
import { metricsPage } from "#http/metrics";
import { docs } from "#http/openapi/docs";
import { certificates, monitoring, portal } from "#modules/certificates/certificates/routes";
import { expiryPolicy } from "#modules/certificates/expiry/routes";
import { rotations } from "#modules/certificates/rotations/routes";
import { connections } from "#modules/core/connections/routes";
import { widgets } from "#modules/core/widgets/routes";
import { agentAccess, agentCredentials } from "#modules/fleet/agent-access/routes";
import { deployments } from "#modules/fleet/agent-protocol/routes";
import { agents, fleetOperations } from "#modules/fleet/agents/routes";
import { assignmentPolicies } from "#modules/fleet/assignment-policies/routes";
import { assignments } from "#modules/fleet/assignments/routes";
import { fleetDeployments } from "#modules/fleet/deployments/routes";
import { joinTokens } from "#modules/fleet/join-tokens/routes";
import { rollouts } from "#modules/fleet/rollouts/routes";
import { signingKeys, successors } from "#modules/fleet/signing-keys/routes";
import { trustStores } from "#modules/fleet/trust-stores/routes";
import { aiSystems, metricsIngest } from "#modules/governance/ai-systems/routes";
import { frameworkCatalogue, governance } from "#modules/governance/frameworks/routes";
import { ingestKeys } from "#modules/governance/ingest-keys/routes";
import { chunks, documents, knowledge } from "#modules/knowledge/documents/routes";
import { files } from "#modules/knowledge/files/routes";
import { apiTokens } from "#modules/people/api-tokens/routes";
import { audit, platformAudit } from "#modules/people/audit/routes";
import { invitations, members } from "#modules/people/members/routes";
import { notifications } from "#modules/people/notifications/routes";
import { organization, organizations } from "#modules/people/organizations/routes";
import { sessions } from "#modules/people/sessions/routes";
import { users } from "#modules/people/users/routes";
import type { Deps } from "./deps";

/** The whole server, by audience. */
export function createApp(deps: Deps) {
  const router: Router = { methodsAt: () => [] };
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } }) // or a host of one to three characters shifts the path
    .use(noteRoutes())
    .use(errors(deps, router))
    .use(allowOrigins(deps.config.corsOrigins))
    .onParse({ as: "global" }, () => null) // guards read the body, after they know the caller
    .use(docs())
    .use(health(deps))
    .use(metricsPage(deps))
    // users
    .use(users(deps))
    .use(sessions(deps))
    .use(portal(deps))
    .use(notifications(deps))
    .use(invitations(deps))
    // organizations
    .use(expiryPolicy(deps))
    .use(certificates(deps))
    .use(monitoring(deps))
    .use(trustStores(deps))
    .use(fleet(deps))
    .use(members(deps))
    .use(connections(deps))
    .use(widgets(deps))
    .use(governance(deps))
    .use(aiSystems(deps))
    .use(ingestKeys(deps))
    .use(knowledge(deps))
    .use(own(deps))
    // workers
    .use(chunks(deps))
    // holders of a link
    .use(files(deps))
    // agents
    .use(host(deps))
    // senders of metrics
    .use(metricsIngest(deps))
    // platform staff
    .use(organizations(deps))
    .use(documents(deps))
    .use(frameworkCatalogue(deps))
    .use(platformAudit(deps));
  router.methodsAt = createMethodLookup(app.routes);
  return app;
}

/** Links of the chain above, because the compiler follows only so many. */
const fleet = (deps: Deps) =>
  new Elysia()
    .use(agents(deps))
    .use(access(deps))
    .use(assignments(deps))
    .use(standing(deps))
    .use(fleetOperations(deps))
    .use(rollouts(deps))
    .use(rotations(deps));

const standing = (deps: Deps) => new Elysia().use(assignmentPolicies(deps)).use(fleetDeployments(deps));

const host = (deps: Deps) => new Elysia().use(deployments(deps)).use(agentAccess(deps)).use(successors(deps));

const access = (deps: Deps) => new Elysia().use(joinTokens(deps)).use(agentCredentials(deps)).use(signingKeys(deps));

const own = (deps: Deps) => new Elysia().use(organization(deps)).use(apiTokens(deps)).use(audit(deps));

export type App = ReturnType<typeof createApp>;

function createMethodLookup(routes: { method: string; path: string }[]): Router["methodsAt"] {
  const patterns = routes.map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}/?$`) }));
  return (path) => {
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map((each) => each.method);
    return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)))];
  };
}
