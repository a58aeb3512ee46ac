import type postgres from "postgres";
import { createWidget } from "#modules/core/widgets/queries/widgets";
import { readSettings } from "#modules/core/widgets/rules/grid";
import { widgetOf } from "#modules/core/widgets/rules/kinds";
import { updateLabels } from "#modules/fleet/agents/queries/labels";
import { createAssignment, updateAssignment } from "#modules/fleet/assignments/queries/assignments";
import { CATALOGUE } from "#modules/fleet/trust-stores/rules/catalogue";
import { storeSamples } from "#modules/governance/ai-systems/queries/metrics";
import { readBatch } from "#modules/governance/ai-systems/rules/samples";
import { changeControl } from "#modules/governance/frameworks/queries/controls";
import { findControl } from "#modules/governance/frameworks/rules/catalogue";
import type { Scope } from "#modules/people/audit/queries";
import { addExample, readInbox } from "#modules/people/notifications/queries";
import type { Call } from "./operations-measure";
import { BUSY_AGENT, CERTIFICATE, CONTROL, ORGANIZATION, READER, SPREAD, STEADY_AGENT } from "./operations-seed";
import { seededId, THING, VALUE } from "./operations-sql";

/** `fixed` is the answer of an operation that asks no database. `isLarge` ones take long, and their parameters fit into no script where `isLooped`. */
export type Operation = { name: string; call: Call; spread: number; isLarge?: boolean; isLooped?: boolean } & (
  | { query: (sql: postgres.Sql) => Promise<unknown> }
  | { fixed: string }
);
type Credentials = { ingestKey: string; tokens: string[]; reader: string };

const scopeOf = (organizationId: string, actor: Scope["actor"] = { type: "gateway", role: "ORG_ADMIN" }): Scope => ({
  organizationId,
  actor,
  requestId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
});
const scope = scopeOf(ORGANIZATION);

const asGateway = (method: string, path: string, body?: object, organizationId = ORGANIZATION): Call => ({
  method,
  path: `/organizations/${organizationId}/${path}`,
  headers: { "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN" },
  ...(body && { body: JSON.stringify(body) }),
});

export function planOperations({ ingestKey, tokens, reader }: Credentials): Record<string, Operation> {
  const assignment = {
    applicationId: "payments-api",
    certificateId: CERTIFICATE,
    trustStoreType: "linux_update_ca_certificates",
    config: { alias: `root-${VALUE}` },
  } as const;
  const defaults = { materialType: "trust_anchor", includePrivateKey: false, autoRenew: true, enabled: true } as const;
  const patch = { applicationId: `app-${VALUE}` };
  const change = { status: "in_progress", note: `note ${VALUE}` } as const;
  const labels = { selector: { fleet: "edge" }, set: { wave: VALUE } };
  const widget = { kind: "expiring_certificates_timeline", title: "What expires this month", dashboard: `board-${VALUE}` } as const;
  const settings = readSettings(widget.kind, {});
  const control = findControl(CONTROL.framework, CONTROL.id);
  if ("fault" in settings || !control) throw new Error("the catalogues do not hold what is measured");
  const oneOfMany = seededId(THING);
  return {
    3: {
      name: "create assignment",
      call: asGateway("POST", `agents/${BUSY_AGENT}/assignments`, assignment),
      spread: 1,
      query: (sql) => createAssignment(sql, scope, { ...defaults, ...assignment, agentId: BUSY_AGENT }),
    },
    4: {
      name: "update assignment",
      call: asGateway("PATCH", `agents/${STEADY_AGENT}/assignments/${oneOfMany}`, patch),
      spread: SPREAD.assignments,
      query: (sql) =>
        updateAssignment(sql, scope, { agentId: STEADY_AGENT, id: oneOfMany }, { patch, config: undefined, materialStores: undefined }, { ifMatch: undefined }),
    },
    5: { name: "trust stores", call: asGateway("GET", "certs/trust-store-catalog"), spread: 1, fixed: CATALOGUE.text },
    9: {
      name: "control status",
      call: asGateway("PATCH", `ai-governance/frameworks/${CONTROL.framework}/controls/${CONTROL.id}`, change, oneOfMany),
      spread: SPREAD.organizations,
      query: (sql) => changeControl(sql, scopeOf(oneOfMany), { framework: CONTROL.framework, control, versions: undefined }, change, new Date()),
    },
    "10a": { name: "ingest 100", ...ingest(ingestKey, 100) },
    "10b": { name: "ingest 10,000", ...ingest(ingestKey, 10_000), isLarge: true, isLooped: true },
    11: {
      name: "label 10,000",
      call: asGateway("POST", "fleet-operations/bulk-label-update", labels),
      spread: 1,
      isLarge: true,
      query: (sql) => updateLabels(sql, scope, labels, { set: labels.set, unset: [], isDryRun: false }),
    },
    13: {
      name: "create widget",
      call: asGateway("POST", "core/widgets", widget),
      spread: 1,
      query: (sql) => createWidget(sql, scope, { ...widget, settings: settings.values, position: undefined, size: widgetOf(widget.kind).defaultSize }),
    },
    18: {
      name: "example notice",
      call: { method: "POST", path: "/users/me/notifications/examples", headers: {}, body: "{}", tokens },
      spread: SPREAD.users,
      query: (sql) => addExample(sql, oneOfMany, { kind: "certificate_expiring" }, 10),
    },
    19: {
      name: "inbox",
      call: { method: "GET", path: "/users/me/notifications/inbox", headers: { authorization: `Bearer ${reader}` } },
      spread: 1,
      query: (sql) => readInbox(sql, READER, { page: 0, limit: 10, unread: false }),
    },
  };
}

/** Ten metrics over the last hours; their names are new each time, so that every sample is. */
function ingest(key: string, count: number) {
  const now = Date.now();
  const samples = Array.from({ length: count }, (_, index) => ({
    metric: `accuracy-${index % 10}-${VALUE}`,
    value: 0.9 + index / 1e6,
    recordedAt: new Date(now - Math.floor(index / 10) * 10_000).toISOString(),
    labels: { region: "eu-west" },
  }));
  const body = { system: `system-${THING}`, samples };
  const path = `/organizations/${ORGANIZATION}/ai-governance/ingest/metrics`;
  const batch = readBatch(body, new Date(now));
  if ("fault" in batch) throw new Error(batch.fault);
  const sender = scopeOf(ORGANIZATION, { type: "ingest-key", id: ORGANIZATION });
  return {
    call: { method: "POST", path, headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) },
    spread: SPREAD.systems,
    query: (sql: postgres.Sql) => storeSamples(sql, sender, batch, null),
  };
}
