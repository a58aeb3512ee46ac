import type { Sql } from "#db/connect";
import type { Content } from "#modules/core/connectors/rules/message";
import { takes } from "#modules/notifications/channels/rules/routes";
import { kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import { type ActiveRoute, addDeliveries, findFitting, listActiveRoutes, type NewDelivery, resolveIncidents } from "../queries/fan-out";
import { compose } from "../rules/compose";
import type { Event } from "../rules/decide";

/** Events of one kind that are dispatched in one transaction. */
export type About = { organizationId: string; kind: NoticeKind; now: Date };
/** A route, and the events that it takes. */
export type Routed = { route: ActiveRoute; events: Set<Event> };

/** Returns the routes that take any of these events of one kind, and which of them. */
export async function routeEvents(tx: Sql, { organizationId, kind }: About, events: readonly Event[]): Promise<Routed[]> {
  if (events.length === 0) return [];
  const routes = (await listActiveRoutes(tx, organizationId)).filter((route) => takes(route, kind, kindOf(kind).severity));
  const fitting = new Map<string, Set<string>>();
  for (const { selectorPath } of routes)
    if (selectorPath !== null && !fitting.has(selectorPath))
      fitting.set(selectorPath, await findFitting(tx, organizationId, selectorPath, [...new Set(events.map(labelledId))]));
  const isTaken = ({ selectorPath }: ActiveRoute, event: Event) => selectorPath === null || fitting.get(selectorPath)?.has(labelledId(event)) === true;
  return routes.map((route) => ({ route, events: new Set(events.filter((event) => isTaken(route, event))) })).filter(({ events }) => events.size > 0);
}

/** Returns whose labels count: those of the agent, where it is about one and is not the agent itself. */
const labelledId = ({ subjectId, facts }: Event) => (typeof facts.agentId === "string" ? facts.agentId : subjectId);

/** Returns the recipients of some events because of routes, beyond those whom they concern. */
export function joinedBy(routed: readonly Routed[], events: readonly Event[]) {
  const joining = routed.filter((each) => events.some((event) => each.events.has(event))).map(({ route }) => route);
  const roles = joining.flatMap(({ role }) => role ?? []);
  return {
    routedUserIds: [...new Set(joining.flatMap(({ userIds }) => userIds ?? []))],
    routedRole: roles.includes("ORG_MEMBER") ? ("ORG_MEMBER" as const) : (roles[0] ?? null),
  };
}

/** Queues deliveries of events: each channel gets one, of the events that its routes take alone. */
export async function queueDeliveries(tx: Sql, about: About, routed: readonly Routed[]) {
  const channels = new Map<string, { route: ActiveRoute; connectionId: string; events: Set<Event> }>();
  for (const { route, events } of routed) {
    const { connectionId } = route;
    if (connectionId === null || !isWanted(route, about.kind)) continue;
    // A channel does not get the message that it fails.
    const others = [...events].filter(({ subjectId }) => about.kind !== "connection_failed" || subjectId !== connectionId);
    const channel = channels.get(connectionId) ?? { route, connectionId, events: new Set() };
    for (const event of others) channel.events.add(event);
    if (others.length > 0) channels.set(connectionId, channel);
  }
  const deliveries = [...channels.values()].flatMap(({ route, connectionId, events }) =>
    groupsOf(about.kind, [...events]).map((group) => toDelivery(about, { route, connectionId }, group)),
  );
  if (deliveries.length > 0) await addDeliveries(tx, about.organizationId, deliveries);
}

/** Returns whether the connection is there and takes such a kind: an end is no incident, and a webhook may name the kinds that it takes. */
function isWanted({ connectionKind, events }: ActiveRoute, kind: NoticeKind) {
  const { ends, severity } = kindOf(kind);
  if (connectionKind === null) return false;
  if (connectionKind === "pagerduty") return !(ends && severity === "info");
  return connectionKind !== "webhook" || events === null || events.length === 0 || events.includes(kind);
}

function groupsOf(kind: NoticeKind, events: Event[]) {
  const { groupBy } = kindOf(kind);
  return [...Map.groupBy(events, ({ facts }) => groupBy?.(facts)).values()];
}

function toDelivery({ organizationId, kind, now }: About, { route, connectionId }: { route: ActiveRoute; connectionId: string }, events: Event[]): NewDelivery {
  const { one, severity, begins } = kindOf(kind);
  const { title, message, link, first, listed, count } = compose(organizationId, kind, events, now);
  const id = Bun.randomUUIDv7();
  const content: Content = {
    kind,
    severity,
    title,
    message,
    link,
    count,
    items: listed.map(({ subjectId, facts }) => ({ id: subjectId, words: one(facts, now).title, facts })),
    occurredAt: now.toISOString(),
  };
  const isIncident = begins && route.connectionKind === "pagerduty";
  const key = `${begins?.condition} ${count === 1 ? first.subjectId : id}`;
  return {
    id,
    routeId: route.id,
    connectionId,
    content,
    incident: isIncident ? { key, condition: begins.condition, subjectIds: [...new Set(events.map(({ subjectId }) => subjectId))] } : null,
  };
}

/** Has channels that keep incidents end those of these subjects. */
export async function queueResolutions(tx: Sql, { organizationId, kind, now }: About, condition: string, subjectIds: string[]) {
  const content: Content = {
    kind,
    severity: "info",
    title: `The ${condition} has ended`,
    message: `The state "${condition}" has ended.`,
    link: `/organizations/${organizationId}`,
    count: subjectIds.length,
    items: [],
    occurredAt: now.toISOString(),
  };
  await resolveIncidents(tx, organizationId, condition, subjectIds, content);
}
