import { arrayOf, type Pool, type Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import { type Resource, updateLocked, type Target as VersionedId } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";
import { CHANNEL_KINDS, MAX_ROUTES, type ReadRoute, type Route, type Target } from "../rules/routes";
import { endMissing, withdrawRoute } from "./withdraw";

/**
 * The JSON of a route as answers show it. A target is missing when its connection was deleted, or none of its users is an active member any
 * more.
 */
const routeJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'kinds', kinds, 'severity', severity,
  'selector', selector, 'target', ${targetJson(sql)}, 'targetMissing', case
    when connection_id is not null then not exists (select from connections c where c.organization_id = route.organization_id and c.id = route.connection_id)
    when user_ids is not null then not exists (
      select from members m where m.organization_id = route.organization_id and m.status = 'active' and route.user_ids ? m.user_id::text)
    else false end,
  'enabled', enabled, 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

const targetJson = (sql: Sql) => sql`jsonb_strip_nulls(jsonb_build_object('connectionId', connection_id, 'userIds', user_ids, 'role', role))`;

/** Lists a page, the newest first, and one more. */
export async function listRoutes(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${routeJson(sql)} as json from notification_routes as route
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findRoute(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<
    Resource[]
  >`select ${routeJson(sql)} as json, version from notification_routes as route where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

export type StoredRoute = Route & { id: string; organizationName: string; version: number };

/** `hold` keeps others from changing it until the transaction ends. */
export async function findStoredRoute(sql: Sql, organizationId: string, id: string, hold = false) {
  const [row] = await sql<StoredRoute[]>`
    select id, (select name from organizations where id = ${organizationId}) as "organizationName", name, kinds, severity, selector, ${targetJson(sql)} as target,
      enabled, version from notification_routes
    where organization_id = ${organizationId} and id = ${id} ${hold ? sql`for update` : sql``}`;
  return row;
}

/** The columns of a route, in the order of its values. */
const COLUMNS = "name, kinds, severity, selector, selector_path, connection_id, user_ids, role, enabled";

const values = (sql: Sql, { name, kinds, severity, selector, selectorPath, target, enabled }: ReadRoute) => sql`
  ${name}::text, ${kinds && JSON.stringify(kinds)}::text::jsonb, ${severity}::notification_severity, ${selector}::text, ${selectorPath}::text,
  ${target.connectionId ?? null}::uuid, ${target.userIds ? JSON.stringify(target.userIds) : null}::text::jsonb, ${target.role ?? null}::member_role, ${enabled}::boolean`;

const facts = (sql: Sql) =>
  sql`jsonb_build_object('name', name, 'kinds', kinds, 'severity', severity, 'selector', selector, 'target', ${targetJson(sql)}, 'enabled', enabled)`;

export const createRoute = (pool: Pool, scope: Scope, id: string, route: ReadRoute) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    await lockOrganization(tx, organizationId);
    const invalid = await findTargetFault(tx, organizationId, route.target);
    if (invalid) return { invalid };
    const [row] = await tx<Resource[]>`
      with created as (
        insert into notification_routes (organization_id, id, ${tx.text(COLUMNS)})
        select ${organizationId}, ${id}, ${values(tx, route)}
        where (select count(*) from notification_routes where organization_id = ${organizationId}) < ${MAX_ROUTES}
        returning *),
      audited as (${audit(tx, scope, "notification-route.created", tx`select id, ${facts(tx)} from created`)})
      select ${routeJson(tx)} as json, version from created as route`;
    return row ?? { invalid: `There are ${MAX_ROUTES} notification routes already, which is as many as an organization may have.` };
  });

type Decide = (stored: StoredRoute) => ReadRoute | { invalid: string };

/** Changes a route as `decide` says. What waits for a channel that the route no longer leads to, or while it is disabled, is given up. */
export const updateRoute = (pool: Pool, scope: Scope, { id, versions }: VersionedId, decide: Decide) =>
  pool.begin(async (tx) =>
    updateLocked(await findStoredRoute(tx, scope.organizationId, id, true), versions, (stored) => {
      const route = decide(stored);
      return "invalid" in route ? route : change(tx, scope, stored, route);
    }),
  );

async function change(tx: Sql, scope: Scope, { id, target }: StoredRoute, route: ReadRoute) {
  const { organizationId } = scope;
  const isElsewhere = !Bun.deepEquals(route.target, target);
  const invalid = isElsewhere ? await findTargetFault(tx, organizationId, route.target) : undefined;
  if (invalid) return { invalid };
  const changed = await writeChange(tx, scope, id, route);
  if (!route.enabled) await withdrawRoute(tx, organizationId, id, "The route was disabled.");
  if (!isElsewhere) return changed ?? findRoute(tx, organizationId, id);
  await withdrawRoute(tx, organizationId, id, "The route leads elsewhere now.");
  await endMissing(tx, organizationId, target.connectionId);
  return changed;
}

/** Returns undefined where nothing is different. */
async function writeChange(tx: Sql, scope: Scope, id: string, route: ReadRoute): Promise<Resource | undefined> {
  const { organizationId } = scope;
  const [row] = await tx<Resource[]>`
    with before as (select ${facts(tx)} as facts from notification_routes where organization_id = ${organizationId} and id = ${id}),
    given (${tx.text(COLUMNS)}) as (select ${values(tx, route)}),
    changed as (
      update notification_routes set (${tx.text(COLUMNS)}) = (select ${tx.text(COLUMNS)} from given), version = version + 1, updated_at = now()
      where organization_id = ${organizationId} and id = ${id} and (select facts from before) <> (select ${facts(tx)} from given) returning *),
    after as (select id, ${facts(tx)} as facts from changed),
    audited as (${audit(tx, scope, "notification-route.updated", tx`select after.id, jsonb_build_object('from', before.facts, 'to', after.facts) from before, after`)})
    select ${routeJson(tx)} as json, version from changed as route`;
  return row;
}

/** Deletes a route. What waits because of it is given up. */
export const deleteRoute = (pool: Pool, scope: Scope, { id, versions }: VersionedId) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    return updateLocked(await findStoredRoute(tx, organizationId, id, true), versions, async ({ target }) => {
      await tx`
        with deleted as (delete from notification_routes where organization_id = ${organizationId} and id = ${id} returning *)
        ${audit(tx, scope, "notification-route.deleted", tx`select id, ${facts(tx)} from deleted`)}`;
      await withdrawRoute(tx, organizationId, id, "The route was deleted.");
      await endMissing(tx, organizationId, target.connectionId);
      return "done" as const;
    });
  });

/** Returns a fault of the target of a route, or undefined. The connection cannot be deleted until the transaction ends. */
async function findTargetFault(tx: Sql, organizationId: string, { connectionId, userIds }: Target) {
  if (connectionId !== undefined) {
    const [connection] = await tx<
      { kind: string }[]
    >`select kind from connections where organization_id = ${organizationId} and id = ${connectionId} for share`;
    if (!connection) return "body.target.connectionId names no connection of this organization.";
    const isChannel = (CHANNEL_KINDS as readonly string[]).includes(connection.kind);
    return isChannel
      ? undefined
      : `body.target.connectionId names a connection of the kind ${connection.kind}; notifications go to ${CHANNEL_KINDS.join(", ")}.`;
  }
  if (userIds === undefined) return;
  const members = await tx<{ userId: string }[]>`
    select user_id as "userId" from members where organization_id = ${organizationId} and user_id = any(${arrayOf(userIds)}::uuid[]) and status = 'active'`;
  const known = new Set(members.map(({ userId }) => userId));
  const index = userIds.findIndex((each) => !known.has(each));
  return index < 0 ? undefined : `body.target.userIds[${index}] is no active member of this organization.`;
}
