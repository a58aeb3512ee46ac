import { expect, test } from "bun:test";
import { createApp } from "#app";
import { world } from "../support/server/world";

/** The nineteen operations of the interface, by number. */
const INTERFACE = [
  ["PATCH", "/users/me/profile"],
  ["POST", "/auth/sign-out"],
  ["POST", "/organizations/{organizationId}/agents/{agentId}/assignments"],
  ["PATCH", "/organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}"],
  ["GET", "/organizations/{organizationId}/certs/trust-store-catalog"],
  ["POST", "/internal/knowledge/documents/{id}/chunks"],
  ["POST", "/organizations/{organizationId}/members"],
  ["GET", "/admin/knowledge-base/documents/{documentId}/download"],
  ["PATCH", "/organizations/{organizationId}/ai-governance/frameworks/{frameworkKey}/controls/{controlId}"],
  ["POST", "/organizations/{organizationId}/ai-governance/ingest/metrics"],
  ["POST", "/organizations/{organizationId}/fleet-operations/bulk-label-update"],
  ["POST", "/organizations/{organizationId}/core/connections"],
  ["POST", "/organizations/{organizationId}/core/widgets"],
  ["POST", "/admin/knowledge-base/documents/{documentId}/reindex"],
  ["GET", "/admin/ai-governance/catalog"],
  ["GET", "/portal/organizations/{organizationId}/certificates/{certificateId}"],
  ["GET", "/organizations/{organizationId}/certs/monitoring/top-expiring"],
  ["POST", "/users/me/notifications/examples"],
  ["GET", "/users/me/notifications/inbox"],
] as const;

const routes = createApp(world.deps).routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);

test("the interface has nineteen operations", () => {
  expect(new Set(INTERFACE.map((each) => each.join(" "))).size).toBe(19);
});

test.each(INTERFACE)("%s %s is a route", (method, path) => {
  expect(routes).toContain(`${method} ${path}`);
});
