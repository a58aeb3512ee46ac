import type { Call } from "../operations-measure";
import { seededId, THING, VALUE } from "../operations-sql";
import { CERTIFICATE, LEAF, ORGANIZATION, SPREAD } from "./seed";

/** A request of an operation; where it is marked, `spread` many things are drawn at random. A slow one is measured for longer. */
export type Operation = { number: string; name: string; call: Call; spread: number; isSlow?: boolean };

export const GATEWAY = { "x-organization-id": ORGANIZATION, "x-organization-role": "ORG_ADMIN" };

const asGateway = (method: string, path: string, body?: object): Call => ({
  method,
  path: `/organizations/${ORGANIZATION}/${path}`,
  headers: GATEWAY,
  ...(body && { body: JSON.stringify(body) }),
});
const asUser = (token: string, path: string): Call => ({ method: "GET", path, headers: { authorization: `Bearer ${token}` } });

export function planOperations(token: string, ingestKey: string): Operation[] {
  const oneOfMany = seededId(THING);
  const assignment = {
    applicationId: "payments-api",
    certificateId: CERTIFICATE,
    trustStoreType: "linux_update_ca_certificates",
    config: { trustStorePath: "/usr/local/share/ca-certificates", alias: `root-${VALUE}` },
  };
  const patch = { applicationId: `app-${VALUE}` };
  const labels = { selector: { fleet: "edge" }, set: { wave: VALUE } };
  return [
    { number: "17", name: "top expiring", call: asGateway("GET", "certs/monitoring/top-expiring"), spread: 1 },
    { number: "19", name: "inbox", call: asUser(token, "/users/me/notifications/inbox"), spread: 1 },
    { number: "16", name: "certificate", call: asUser(token, `/portal/organizations/${ORGANIZATION}/certificates/${LEAF}`), spread: 1 },
    { number: "5", name: "trust stores", call: asGateway("GET", "certs/trust-store-catalog"), spread: 1 },
    { number: "3", name: "create assignment", call: asGateway("POST", `agents/${oneOfMany}/assignments`, assignment), spread: SPREAD.agents },
    { number: "4", name: "update assignment", call: asGateway("PATCH", `agents/${oneOfMany}/assignments/${oneOfMany}`, patch), spread: SPREAD.agents },
    { number: "10", name: "ingest 100", call: ingest(ingestKey), spread: SPREAD.systems },
    { number: "11", name: `label ${SPREAD.agents}`, call: asGateway("POST", "fleet-operations/bulk-label-update", labels), spread: 1, isSlow: true },
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
  };
}
