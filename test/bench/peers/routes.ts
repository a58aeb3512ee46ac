import { findCertificate, listExpiring, readInbox } from "./reads";
import type { Route } from "./work";
import { createAssignment, ingestMetrics, updateAssignment, updateLabels } from "./writes";

/** The operations as written by hand, with answers of the same shape: one plain statement each, without audit events, log, metrics or checks. */
export const routes = (catalogue: string): Route[] => [
  { method: "GET", path: "/organizations/:organizationId/certs/trust-store-catalog", status: 200, answer: () => catalogue },
  { method: "GET", path: "/organizations/:organizationId/certs/monitoring/top-expiring", status: 200, answer: listExpiring },
  { method: "GET", path: "/portal/organizations/:organizationId/certificates/:certificateId", status: 200, answer: findCertificate },
  { method: "GET", path: "/users/me/notifications/inbox", status: 200, answer: readInbox },
  { method: "POST", path: "/organizations/:organizationId/agents/:agentId/assignments", status: 201, answer: createAssignment },
  { method: "PATCH", path: "/organizations/:organizationId/agents/:agentId/assignments/:assignmentId", status: 200, answer: updateAssignment },
  { method: "POST", path: "/organizations/:organizationId/ai-governance/ingest/metrics", status: 202, answer: ingestMetrics },
  { method: "POST", path: "/organizations/:organizationId/fleet-operations/bulk-label-update", status: 200, answer: updateLabels },
];
