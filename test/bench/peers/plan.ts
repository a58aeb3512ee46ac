import { type Call, seededId, THING, VALUE } from "../requests";
import { CERTIFICATE, LEAF, ORGANIZATION, SPREAD } from "./seed";

/** A slow one is measured for longer. */
export type Operation = { number: string; name: string; call: Call; isSlow?: boolean };

export const GATEWAY = { "x-organization-id": ORGANIZATION, "x-organization-role": "ORG_ADMIN" };

const asGateway = (method: string, path: string, body?: object, spread = 1): Call => ({
  method,
  path: `/organizations/${ORGANIZATION}/${path}`,
  headers: GATEWAY,
  ...(body && { body: JSON.stringify(body) }),
  spread,
});
const asUser = (token: string, path: string): Call => ({ method: "GET", path, headers: { authorization: `Bearer ${token}` }, spread: 1 });

export function planOperations(token: string, ingestKey: string): Operation[] {
  const oneOfMany = seededId(THING);
  const assignment = {
    applicationId: "payments-api",
    certificateId: CERTIFICATE,
    trustStoreType: "linux_update_ca_certificates",
    config: { trustStorePath: "/usr/local/share/ca-certificates", alias: `root-${VALUE}` },
  };
  const patch = (body: object) => asGateway("PATCH", `agents/${oneOfMany}/assignments/${oneOfMany}`, body, SPREAD.agents);
  const labels = { selector: { fleet: "edge" }, set: { wave: VALUE } };
  return [
    { number: "17", name: "top expiring", call: asGateway("GET", "certs/monitoring/top-expiring") },
    { number: "19", name: "inbox", call: asUser(token, "/users/me/notifications/inbox") },
    { number: "16", name: "certificate", call: asUser(token, `/portal/organizations/${ORGANIZATION}/certificates/${LEAF}`) },
    { number: "5", name: "trust stores", call: asGateway("GET", "certs/trust-store-catalog") },
    { number: "3", name: "create assignment", call: asGateway("POST", `agents/${oneOfMany}/assignments`, assignment, SPREAD.agents) },
    { number: "4", name: "update application", call: patch({ applicationId: `app-${VALUE}` }) },
    { number: "4c", name: "update config", call: patch({ config: { trustStorePath: `/etc/nginx/tls-${VALUE}` } }) },
    { number: "10", name: "ingest 100", call: ingest(ingestKey) },
    { number: "11", name: `label ${SPREAD.agents}`, call: asGateway("POST", "fleet-operations/bulk-label-update", labels), isSlow: true },
  ];
}

/** Ten metrics over the last minutes; their names are new each time, so that every sample is. */
function ingest(key: string): Call {
  const samples = Array.from({ length: 100 }, (_, index) => ({
    metric: `accuracy-${index % 10}-${VALUE}`,
    value: 0.9 + index / 1e6,
    recordedAt: new Date(Date.now() - Math.floor(index / 10) * 10_000).toISOString(),
    labels: { region: "eu-west" },
  }));
  return {
    method: "POST",
    path: `/organizations/${ORGANIZATION}/ai-governance/ingest/metrics`,
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ system: `system-${THING}`, samples }),
    spread: SPREAD.systems,
  };
}
