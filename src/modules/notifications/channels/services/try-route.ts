import type { Deps } from "#deps";
import { findConnection } from "#modules/core/connectors/queries";
import { exampleContent } from "#modules/core/connectors/rules/example";
import { attempt, urlOf } from "#modules/core/connectors/services/attempt";
import type { Reach } from "#modules/core/connectors/services/http";
import { recipientsOf } from "#modules/core/connectors/services/smtp";
import type { Scope } from "#modules/people/audit/queries";
import { send } from "#outbound/http-client";
import { saveTest } from "../queries/deliveries";
import type { StoredRoute } from "../queries/routes";

/** Below the five seconds that a request may take, so that the outcome can still be kept and answered. */
const LIMIT_MS = 4_000;
const MEMBERS = "The route leads to members, who have an inbox: there is no channel to test.";

type TestOutcome = { outcome: "delivered" | "failed" | "unsupported"; status: number | null; message: string; deliveryId: string | null };

/** Delivers an example to the channel of a route, at once and once. It is marked as a test. 429 beyond what an organization may try. */
export async function tryRoute(
  { sql, stamps, config, clock, limits }: Pick<Deps, "sql" | "stamps" | "config" | "clock" | "limits">,
  scope: Scope,
  { id: routeId, target, organizationName }: StoredRoute,
  reach: Reach = send,
): Promise<TestOutcome> {
  const { connectionId } = target;
  if (connectionId === undefined) return { outcome: "unsupported", status: null, message: MEMBERS, deliveryId: null };
  const { organizationId } = scope;
  const id = Bun.randomUUIDv7();
  const link = `/organizations/${organizationId}/notification-routes/${routeId}`;
  const content = exampleContent({ id: routeId, link }, clock());
  const connection = await findConnection(sql, organizationId, connectionId);
  limits.chargeTrial(organizationId, connection?.kind === "smtp" ? recipientsOf(connection.config).length : 0);
  const isIncident = connection?.kind === "pagerduty";
  const message = {
    ...content,
    id,
    organization: { id: organizationId, name: organizationName },
    url: urlOf(config, link),
    incident: isIncident ? { key: id, isResolved: false } : undefined,
    isTest: true,
  };
  const { outcome } = await attempt({ config, stamps, clock, reach }, { organizationId, connectionId, connection, message, maxMs: LIMIT_MS });
  const reason = outcome.state === "failed" ? outcome.reason : null;
  await saveTest(sql, scope, { id, routeId, connectionId, content, status: outcome.status, reason, incidentKey: isIncident ? id : null });
  return { outcome: outcome.state, status: outcome.status, message: reason ?? "It was delivered.", deliveryId: id };
}
