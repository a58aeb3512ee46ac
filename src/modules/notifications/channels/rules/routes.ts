import { compileSelector } from "#labels/selector";

/** Kinds of connections that notifications can go to. */
export const CHANNEL_KINDS = ["webhook", "slack", "microsoft_teams", "pagerduty", "smtp"] as const;
export const SEVERITIES = ["info", "warning", "critical"] as const;
export const MAX_ROUTES = 50;

export type Target = { connectionId?: string | undefined; userIds?: string[] | undefined; role?: "ORG_ADMIN" | "ORG_MEMBER" | undefined };
export type Route = {
  name: string;
  kinds: string[] | null;
  severity: (typeof SEVERITIES)[number];
  selector: string | null;
  target: Target;
  enabled: boolean;
};
/** A route with its selector as a jsonpath predicate. */
export type ReadRoute = Route & { selectorPath: string | null };

/** Returns the route as it is stored, or what is wrong with it. */
export function readRoute({ kinds, target: { connectionId, userIds, role }, ...rest }: Route): ReadRoute | { invalid: string } {
  const { selector } = rest;
  const target = {
    ...(connectionId !== undefined && { connectionId: connectionId.toLowerCase() }),
    ...(userIds !== undefined && { userIds: userIds.map((each) => each.toLowerCase()) }),
    ...(role !== undefined && { role }),
  };
  const compiled = selector === null ? { path: null } : compileSelector(selector);
  if ("fault" in compiled) return { invalid: `body.selector ${compiled.fault}.` };
  return { ...rest, target, kinds: kinds && [...new Set(kinds)], selectorPath: compiled.path };
}

type Taker = Pick<Route, "kinds" | "severity">;

/** Returns whether a route takes notifications of a kind and severity. */
export const takes = ({ kinds, severity }: Taker, kind: string, ofEvent: Route["severity"]) =>
  (kinds === null || kinds.includes(kind)) && SEVERITIES.indexOf(ofEvent) >= SEVERITIES.indexOf(severity);
