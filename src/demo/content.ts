import { addThisMachine } from "./this-machine";

type Json = Record<string, unknown>;
type Caller = { base: string; token: string; user: string; organization: string };

const HOUR = 3_600_000;
const AGENTS = [
  { name: "web-1", labels: { env: "prod", tier: "web", zone: "a" } },
  { name: "web-2", labels: { env: "prod", tier: "web", zone: "b" } },
  { name: "db-1", labels: { env: "prod", tier: "db", zone: "a" } },
  { name: "staging-1", labels: { env: "staging", tier: "web", zone: "a" } },
];
/** What each agent says of its assignment; the last one has not spoken yet. */
const STATES = ["installed", "failed", "drifted"] as const;

const DOCUMENTS = [
  {
    title: "Certificate rotation handbook",
    fileName: "rotation.md",
    text: "# Certificate rotation\n\nA trust anchor is rotated with an overlap: the new root is installed everywhere before the first certificate is issued under it.\n\n## When an agent reports drift\n\nSomebody has changed the trust store by hand. The agent installs the certificate again and reports what it found.",
  },
  {
    title: "Incident response for AI systems",
    fileName: "incidents.html",
    text: "<h1>Incidents</h1><p>A serious incident of a high-risk system is reported to the authority within fifteen days.</p><p>Whoever sees the error rate leave its range opens an incident and stops the roll-out.</p>",
  },
];

/** Fills the demo organization through the server's own interface, as any client would. */
export async function addContent(caller: Caller, anchors: string[], dataDir: string) {
  const { organization, user } = caller;
  const call = createCall(caller);
  const inOrganization: Call = (method, path, ...rest) => call(method, `/organizations/${organization}${path}`, ...rest);
  const roots = await findAnchors(inOrganization, anchors);
  for (const [index, agent] of AGENTS.entries()) await addAgent(call, inOrganization, agent, roots[index] ?? "", STATES[index]);
  await addThisMachine(inOrganization, roots.at(-1) ?? "", dataDir);
  for (const name of ["grace", "alan"]) await inOrganization("POST", "/members", { email: `${name}@certitude.example`, firstName: name });
  for (const kind of ["certificate_expiring", "assignment_drifted", "control_due"]) await call("POST", "/users/me/notifications/examples", { kind });
  await addControls(inOrganization, roots[0] ?? "", user);
  const system = await addMetrics(inOrganization);
  await addDocuments(caller);
  await addDashboard(inOrganization, system);
}

export type Call = (method: string, path: string, body?: Json, headers?: Record<string, string>) => Promise<Json>;

function createCall({ base, token, user, organization }: Caller): Call {
  const own = { authorization: `Bearer ${token}`, "x-user-id": user, "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" };
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(base + path, {
      method,
      headers: { ...own, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`The demo could not ${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
}

/** The ids of certificates that are stored already. */
async function findAnchors(call: Call, pems: string[]) {
  const { duplicates } = (await call("POST", "/certificates", { pem: pems.join("\n") })) as { duplicates: { id: string }[] };
  return duplicates.map((each) => each.id);
}

async function addAgent(call: Call, inOrganization: Call, agent: (typeof AGENTS)[number], certificateId: string, state: (typeof STATES)[number] | undefined) {
  const { id, token } = await inOrganization("POST", "/agents", agent);
  const wish = { applicationId: "demo-shop", certificateId, trustStoreType: "linux_update_ca_certificates", config: { alias: "demo-root" } };
  const assignment = await inOrganization("POST", `/agents/${id}/assignments`, wish);
  if (!state) return;
  const message = state === "failed" ? "update-ca-certificates is not installed" : undefined;
  const reports = [{ assignmentId: assignment.id, state, ...(message && { message }) }];
  await call("POST", "/agent/reports", { reports }, { authorization: `Bearer ${token}` });
}

async function addControls(call: Call, certificateId: string, ownerId: string) {
  const { items } = (await call("GET", "/ai-governance/frameworks/euaiact/controls")) as { items: { id: string }[] };
  const changes: Json[] = [
    { status: "implemented", evidence: [{ title: "Root certificate of the signing chain", certificateId }], ownerId },
    { status: "implemented", evidence: [{ title: "Policy", url: "https://certitude.example/policy" }] },
    { status: "in_progress", note: "The risk register is being written.", ownerId },
    { status: "not_applicable", note: "No biometric systems are in use." },
  ];
  for (const [index, change] of changes.entries()) await call("PATCH", `/ai-governance/frameworks/euaiact/controls/${items[index]?.id}`, change);
}

/** A day of two metrics, one sample every ten minutes. */
async function addMetrics(call: Call) {
  const { key } = await call("POST", "/ai-governance/ingest/keys", { name: "Demo collector" });
  const samples = Array.from({ length: 144 }, (_, index) => {
    const recordedAt = new Date(Date.now() - (143 - index) * (HOUR / 6)).toISOString();
    const wave = Math.sin(index / 12);
    return [
      { metric: "latency_p95", value: Math.round(420 + 90 * wave), unit: "ms", recordedAt },
      { metric: "error_rate", value: Math.round((0.02 + 0.01 * wave) * 1e4) / 1e4, recordedAt },
    ];
  }).flat();
  await call("POST", "/ai-governance/ingest/metrics", { system: "support-bot", samples }, { authorization: `Bearer ${key}` });
  const { items } = (await call("GET", "/ai-governance/systems")) as { items: { id: string }[] };
  return items[0]?.id ?? "";
}

async function addDocuments({ base, token, user, organization }: Caller) {
  for (const { title, fileName, text } of DOCUMENTS) {
    const form = new FormData();
    form.set("organizationId", organization);
    form.set("title", title);
    form.set("file", new File([text], fileName));
    const headers = { authorization: `Bearer ${token}`, "x-user-id": user };
    const answer = await fetch(`${base}/admin/knowledge-base/documents`, { method: "POST", headers, body: form });
    if (!answer.ok) throw new Error(`The demo could not upload ${fileName}: ${answer.status} ${await answer.text()}`);
  }
}

async function addDashboard(call: Call, system: string) {
  const widgets: Json[] = [
    { kind: "expiring_certificates_timeline", title: "What expires" },
    { kind: "agent_health", title: "Agents" },
    { kind: "assignment_drift", title: "Drift" },
    { kind: "framework_compliance_progress", title: "EU AI Act", settings: { frameworkKey: "euaiact" } },
    { kind: "ai_metric_time_series", title: "Support bot", settings: { systemIds: [system], metrics: ["latency_p95"] } },
  ];
  for (const widget of widgets) await call("POST", "/core/widgets", widget);
}
