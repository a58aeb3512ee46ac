import { arrayOf, type Sql } from "#db/connect";
import type { Act, PlatformEvent } from "../queries";

/** One occurrence, of the trail of its `organizationId` where that exists, else of the platform's. */
export type Occurrence = Required<PlatformEvent> & Act & { organizationId: string | undefined };
type Counted = Occurrence & { count: number; firstAt: string; lastAt: string };

/** Different events that are counted at once; further ones count as one. */
const MAX_EVENTS = 1_000;
/** Ids between two writes that are looked up, because this process has not seen the organization yet: a stranger may make up any number. */
const MAX_LOOKUPS = 200;

type Services = { sql: Sql; clock: () => Date; isKnownOrganization: (id: string) => boolean; maxEach?: number };
export type CountedEvents = ReturnType<typeof createCountedEvents>;

/**
 * Counts equal audit events in memory, of which `flush` writes one row; beyond `maxEach` different ones of a caller and peer in
 * a trail, all count as one.
 */
export function createCountedEvents({ sql, clock, isKnownOrganization, maxEach = MAX_EVENTS }: Services) {
  let events = new Map<string, Counted>();
  let sources = new Map<string, number>();
  let lookups = new Set<string>();
  let writing = Promise.resolve();

  /** The event itself, or what it counts as where there are too many different ones. */
  function place(event: Counted): Counted {
    if (events.size >= MAX_EVENTS) return { ...event, ...ANONYMOUS };
    const source = JSON.stringify([event.organizationId, event.actor.id, event.details.peer]);
    const different = sources.get(source) ?? 0;
    if (different >= maxEach) return { ...event, ...OTHERS, details: { peer: event.details.peer } };
    sources.set(source, different + 1);
    return event;
  }

  function count(event: Counted) {
    const placed = events.has(keyOf(event)) ? event : place(event);
    addTo(events, placed);
  }

  function add(occurrence: Occurrence) {
    const at = clock().toISOString();
    count({ ...occurrence, organizationId: mayExist(occurrence.organizationId), count: 1, firstAt: at, lastAt: at });
  }

  function mayExist(id: string | undefined) {
    if (id === undefined || isKnownOrganization(id) || lookups.has(id)) return id;
    if (lookups.size >= MAX_LOOKUPS) return;
    lookups.add(id);
    return id;
  }

  async function write() {
    const [taken, unsure] = [events, lookups];
    if (taken.size === 0) return;
    [events, lookups, sources] = [new Map(), new Set(), new Map()];
    try {
      const found = unsure.size > 0 ? await sql<{ id: string }[]>`select id from organizations where id = any(${arrayOf([...unsure])}::uuid[])` : [];
      for (const { id } of found) unsure.delete(id);
      await insert(sql, mergeUnknown([...taken.values()], unsure));
    } catch (error) {
      for (const id of unsure) lookups.add(id);
      for (const event of taken.values()) count(event);
      throw error;
    }
  }

  /** Writes the events counted since the last time; rejects where that fails, and keeps them. */
  function flush() {
    const written = writing.then(write);
    writing = written.catch(() => {}); // the caller gets the failure; the next write begins all the same
    return written;
  }

  return { add, flush };
}

const OTHERS = { targetType: "others", targetId: "others" };
const ANONYMOUS = { ...OTHERS, organizationId: undefined, actor: { type: "anonymous" as const }, details: {} };

const keyOf = ({ organizationId, actor, action, targetType, targetId, details }: Counted) =>
  JSON.stringify([organizationId, actor, action, targetType, targetId, details]);

function addTo(events: Map<string, Counted>, event: Counted) {
  const same = events.get(keyOf(event));
  if (same) Object.assign(same, { count: same.count + event.count, lastAt: event.lastAt });
  else events.set(keyOf(event), { ...event });
}

/** Events of organizations that do not exist are the platform's, counted together. */
function mergeUnknown(events: Counted[], unknown: Set<string>) {
  const merged = new Map<string, Counted>();
  for (const event of events) addTo(merged, unknown.has(event.organizationId ?? "") ? { ...event, organizationId: undefined } : event);
  return [...merged.values()];
}

async function insert(sql: Sql, events: Counted[]) {
  const rows = events.map(({ count, firstAt, lastAt, details, ...rest }) => ({ ...rest, details: { ...details, count, firstAt, lastAt } }));
  await sql`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as event
        ("organizationId" uuid, actor jsonb, action text, "targetType" text, "targetId" text, "requestId" text, details jsonb)),
    of_organizations as (
      insert into audit_tail (organization_id, id, actor, action, target_type, target_id, request_id, details)
      select "organizationId", new_id(), actor, action, "targetType", "targetId", "requestId", details from given where "organizationId" is not null)
    insert into platform_audit_events (id, actor, action, target_type, target_id, request_id, details)
    select new_id(), actor, action, "targetType", "targetId", "requestId", details from given where "organizationId" is null`;
}
