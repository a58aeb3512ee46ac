import { Elysia, t } from "elysia";
import { authenticateApiToken } from "#auth/api-token";
import { authenticate, bearerToken } from "#auth/authenticate";
import { memberStanding, type StandingRole, UNPROVEN_ADMIN } from "#auth/standing";
import type { Deps } from "#deps";
import { isReading, readBody } from "#http/body";
import { Refusal } from "#http/errors";
import { exchangeOf, peerAddress } from "#http/exchange";
import { Message, OneOf, Unauthorized, Uuid } from "#http/schema";
import { isApiToken } from "#modules/people/api-tokens/rules";
import type { Actor, Scope } from "#modules/people/audit/queries";
import { findMember } from "#modules/people/members/queries/members";
import { isUuid } from "#text/uuid";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;
export type Role = (typeof ROLES)[number];

const Headers = t.Object(
  {
    "x-organization-role": OneOf(ROLES, { description: "In which role the caller acts; a user token or API token must cover it." }),
    "x-organization-id": { ...Uuid, description: "Must equal the organizationId of the path." },
  },
  { noValidate: true },
);
const HeadersWithActor = t.Object(
  { ...Headers.properties, "x-user-id": t.Optional({ ...Uuid, description: "The ORG_ADMIN who acts; the audit trail names this user." }) },
  { noValidate: true },
);

const UNTRUSTED =
  "Organization headers alone are accepted from a trusted gateway only. Send a user token, or name the gateway in TRUSTED_GATEWAYS; with GATEWAY_SECRET it must send x-gateway-secret too.";
const PAIR = ["organizationRole", "organizationId"];

type Options = {
  /** The header `x-user-id`, when sent, names the ORG_ADMIN who acts. */
  namesActor?: boolean;
};

/**
 * The caller acts in the organization of the path: `scope` says for whom. Reading is open to both roles, writing needs
 * ORG_ADMIN, and so does a route with `role: "ORG_ADMIN"`.
 */
export const inOrganization = (deps: Deps, { namesActor = false }: Options = {}) =>
  new Elysia({ name: "in-organization", seed: namesActor })
    .guard({
      as: "scoped",
      headers: namesActor ? HeadersWithActor : Headers,
      response: { 401: Unauthorized(["userToken", ...PAIR], ["apiToken", ...PAIR], PAIR), 403: Message },
    })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const entered = await enter(deps, request);
      const scope = namesActor ? await nameActor(deps, entered, request.headers) : entered;
      exchangeOf(request).scope = scope;
      return { scope };
    })
    .macro({
      role: (required: Role) => ({
        transform({ headers }: { headers: Record<string, string | undefined> }) {
          requireRole(headers["x-organization-role"], required);
        },
      }),
    })
    .onTransform({ as: "scoped" }, readBody);

async function enter(deps: Deps, request: Request): Promise<Scope> {
  const { id, pathOrganizationId } = exchangeOf(request);
  const token = bearerToken(request);
  const caller = token === undefined ? undefined : await findCaller(deps, request, token);
  if (!caller && !deps.isTrustedGateway(request)) throw new Refusal(403, UNTRUSTED);
  const { organizationId, role } = readHeaders(request.headers, pathOrganizationId);
  if (!(await deps.organizationExists(organizationId))) throw new Refusal(403, "You have no access to this organization.");
  if (!caller) deps.limits.charge(request, { type: "gateway", role }, `${peerAddress(request)} ${organizationId}`);
  if (caller) requireMembership(await caller.roleIn(organizationId), role);
  if (!isReading(request)) requireRole(role, "ORG_ADMIN");
  const actor: Actor = caller ? { ...caller.actor, role } : { type: "gateway", role };
  return { organizationId, actor, requestId: id };
}

/** The audit trail keeps both: whom the header names, and who sent it. */
async function nameActor(deps: Deps, scope: Scope, headers: Headers): Promise<Scope> {
  const id = headers.get("x-user-id")?.toLowerCase();
  if (id === undefined) return scope;
  if (!isUuid(id) || (await roleOfMember(deps, scope.organizationId, id)) !== "ORG_ADMIN")
    throw new Refusal(403, "The header x-user-id must be the user id of an ORG_ADMIN of this organization.");
  return { ...scope, actor: { type: "user", id, role: "ORG_ADMIN", via: scope.actor } };
}

function readHeaders(headers: Headers, organizationId: string | undefined) {
  const sent = headers.get("x-organization-role");
  const role = ROLES.find((each) => each === sent);
  if (!role) throw new Refusal(403, "The header x-organization-role must be ORG_ADMIN or ORG_MEMBER.");
  const named = headers.get("x-organization-id");
  if (!isUuid(named) || named.toLowerCase() !== organizationId?.toLowerCase())
    throw new Refusal(403, "The header x-organization-id must be the UUID in the path.");
  return { organizationId: named.toLowerCase(), role };
}

type RoleOf = StandingRole | undefined;
type Caller = { actor: Actor; roleIn: (organizationId: string) => RoleOf | Promise<RoleOf> };

/** Returns the caller that the bearer token proves; throws a 401 otherwise. */
async function findCaller(deps: Deps, request: Request, token: string): Promise<Caller> {
  if (isApiToken(token)) {
    const { apiTokenId, organizationId, role, makerId } = await authenticateApiToken(deps, request, token);
    const actor = { type: "api-token" as const, id: apiTokenId, ...(makerId !== null && { userId: makerId }) };
    return { actor, roleIn: (asked) => (asked === organizationId ? role : undefined) };
  }
  const { userId } = await authenticate(deps, request);
  return { actor: { type: "user", id: userId }, roleIn: (organizationId) => roleOfMember(deps, organizationId, userId) };
}

async function roleOfMember(deps: Deps, organizationId: string, userId: string): Promise<RoleOf> {
  const member = await findMember(deps.sql, organizationId, userId);
  return member && memberStanding(deps, member);
}

function requireMembership(own: RoleOf, role: Role) {
  if (!own) throw new Refusal(403, "You have no access to this organization.");
  if (own === "unproven" && role === "ORG_ADMIN") throw new Refusal(403, UNPROVEN_ADMIN);
  requireRole(own, role);
}

function requireRole(role: string | undefined, required: Role) {
  if (required === "ORG_ADMIN" && role !== "ORG_ADMIN") throw new Refusal(403, "This needs the role ORG_ADMIN.");
}
