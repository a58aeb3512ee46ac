import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockName } from "#db/locks";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import type { PageAfter } from "#db/page";
import { audit, deleteAudited, type Scope } from "#modules/people/audit/queries";
import { type Box, findPlace } from "../rules/grid";

type Values = Record<string, unknown>;

const widgetJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'kind', kind, 'title', title, 'dashboard', dashboard,
  'settings', settings, 'position', json_build_object('x', x, 'y', y, 'width', width, 'height', height),
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

/** By dashboard, then from the top and the left; one more than `limit`. */
export async function listWidgets(
  sql: Sql,
  organizationId: string,
  { limit, after }: PageAfter<readonly [dashboard: string, y: string, x: string, id: string]>,
  dashboard: string | undefined,
) {
  const [name, y, x, id] = after ?? ["", "0", "0", MIN_UUID];
  const rows = await sql<{ json: string; dashboard: string; y: number; x: number; id: string }[]>`
    select ${widgetJson(sql)} as json, dashboard, y, x, id from widgets
    where organization_id = ${organizationId} and (dashboard, y, x, id) > (${name}, ${y}::int, ${x}::int, ${id}::uuid)
      ${dashboard === undefined ? sql`` : sql`and dashboard = ${dashboard}`}
    order by dashboard, y, x, id limit ${limit + 1}`;
  return rows.map((row) => ({ json: row.json, key: [row.dashboard, `${row.y}`, `${row.x}`, row.id] }));
}

export async function findWidget(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`select ${widgetJson(sql)} as json, version from widgets where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

export async function findKind(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<{ kind: string; settings: Values }[]>`select kind, settings from widgets where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** Serializes changes of a dashboard, so that a place that is seen free stays free. */
const lockDashboard = (sql: Sql, organizationId: string, dashboard: string) => lockName(sql, `widgets ${organizationId} ${dashboard}`);

const listBoxes = (sql: Sql, organizationId: string, dashboard: string, except: string | null) => sql<(Box & { title: string })[]>`
  select title, x, y, width, height from widgets
  where organization_id = ${organizationId} and dashboard = ${dashboard} and (${except}::uuid is null or id <> ${except})`;

type NewWidget = { kind: string; title: string; settings: Values; dashboard: string; position: Box | undefined; size: { width: number; height: number } };

export async function createWidget(pool: Pool, scope: Scope, given: NewWidget): Promise<(Resource & { id: string }) | { invalid: string }> {
  const { organizationId } = scope;
  return pool.begin(async (tx) => {
    await lockDashboard(tx, organizationId, given.dashboard);
    const place = findPlace(await listBoxes(tx, organizationId, given.dashboard, null), given.position, given.size);
    if ("invalid" in place) return place;
    const id = Bun.randomUUIDv7();
    const { x, y, width, height } = place.box;
    const [shown] = await tx<Resource[]>`
      with created as (
        insert into widgets (organization_id, id, dashboard, kind, title, settings, x, y, width, height)
        values (${organizationId}, ${id}, ${given.dashboard}, ${given.kind}, ${given.title}, ${JSON.stringify(given.settings)}::jsonb, ${x}, ${y}, ${width}, ${height})
        returning *),
      audited as (${audit(tx, scope, "widget.created", tx`select id, jsonb_build_object('kind', kind, 'title', title, 'dashboard', dashboard) from created`)})
      select ${widgetJson(tx)} as json, version from created`;
    if (!shown) throw new Error("a widget was not created");
    return { ...shown, id };
  });
}

export type Stored = { kind: string; title: string; dashboard: string; settings: Values; position: Box };
/** A widget after a change; without a position it goes below the last one of its new dashboard. */
export type Change = { title: string; dashboard: string; settings: Values; position: Box | undefined };

type Decide = (stored: Stored) => Change | { invalid: string };

export const updateWidget = (pool: Pool, scope: Scope, { id, versions }: Target, decide: Decide) =>
  pool.begin(async (tx) =>
    updateLocked(await lockWidget(tx, scope.organizationId, id), versions, async (stored) => {
      const change = decide(stored);
      if ("invalid" in change) return change;
      const place = await replace(tx, scope.organizationId, id, stored, change);
      if ("invalid" in place) return place;
      const next = { ...change, position: place.box };
      const changed = (["title", "dashboard", "settings", "position"] as const).filter((part) => !Bun.deepEquals(next[part], stored[part]));
      return changed.length === 0 ? findWidget(tx, scope.organizationId, id) : writeWidget(tx, scope, id, next, changed);
    }),
  );

async function lockWidget(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<(Stored & { version: number })[]>`
    select kind, title, dashboard, settings, json_build_object('x', x, 'y', y, 'width', width, 'height', height) as position, version
    from widgets where organization_id = ${organizationId} and id = ${id} for update`;
  return row;
}

async function replace(sql: Sql, organizationId: string, id: string, stored: Stored, { dashboard, position }: Change) {
  if (dashboard === stored.dashboard && Bun.deepEquals(position, stored.position)) return { box: stored.position };
  await lockDashboard(sql, organizationId, dashboard);
  return findPlace(await listBoxes(sql, organizationId, dashboard, id), position, stored.position);
}

type Next = Omit<Change, "position"> & { position: Box };

async function writeWidget(sql: Sql, scope: Scope, id: string, { title, dashboard, settings, position }: Next, changed: string[]) {
  const details = JSON.stringify({ changed });
  const [row] = await sql<Resource[]>`
    with changed as (
      update widgets set title = ${title}, dashboard = ${dashboard}, settings = ${JSON.stringify(settings)}::jsonb,
        x = ${position.x}, y = ${position.y}, width = ${position.width}, height = ${position.height}, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} returning *),
    audited as (${audit(sql, scope, "widget.updated", sql`select id, ${details}::jsonb from changed`)})
    select ${widgetJson(sql)} as json, version from changed`;
  return row;
}

export const deleteWidget = (sql: Sql, scope: Scope, target: Target) =>
  deleteAudited(sql, scope, target, {
    table: "widgets",
    action: "widget.deleted",
    details: sql`jsonb_build_object('kind', kind, 'title', title, 'dashboard', dashboard)`,
  });
