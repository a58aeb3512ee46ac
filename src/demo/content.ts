import { addAgents, addThisMachine } from "./agents";
import type { Client, Json } from "./client";

/** Made last: once it was made, the demo is complete. */
export const LAST_WIDGET = "Support bot";
const HOUR = 3_600_000;
const SYSTEM = "support-bot";
const COLLECTOR = "Demo collector";
const DOCUMENTS_PATH = "/admin/knowledge-base/documents";

const MEMBERS = ["grace", "alan"].map((firstName) => ({ email: `${firstName}@certitude.example`, firstName }));
const NOTICES = ["certificate_expiring", "assignment_drifted", "control_due"].map((kind) => ({ kind }));
const DOCUMENTS = [
  {
    title: "Certificate rotation handbook",
    fileName: "rotation.md",
    text: "# Certificate rotation\n\nA trust anchor is rotated with an overlap: the new root is installed everywhere before the first certificate is issued under it.\n\n## When an agent reports drift\n\nThe trust store was changed by hand. The agent installs the certificate again and reports what it found.",
  },
  {
    title: "Incident response for AI systems",
    fileName: "incidents.html",
    text: "<h1>Incidents</h1><p>A serious incident of a high-risk system is reported to the authority within fifteen days.</p><p>When the error rate leaves its range, open an incident and stop the roll-out.</p>",
  },
];

type DemoOrganization = { organizationId: string; userId: string; dataDir: string };

/**
 * Fills the demo organization through the application's own interface, with only what is missing, so that it can be
 * interrupted. `roots` are certificates to assign.
 */
export async function addContent(client: Client, roots: string[], { organizationId, userId, dataDir }: DemoOrganization, step: (name: string) => void) {
  step("agents");
  await addAgents(client, roots);
  await addThisMachine(client, roots.at(-1) ?? "", dataDir);
  step("members");
  await client.addMissing("members", "email", MEMBERS);
  await client.addMissing("/users/me/notifications/examples", "kind", NOTICES, { listedAt: "/users/me/notifications/inbox" });
  step("AI governance");
  await addControls(client, roots[0] ?? "", userId);
  const system = await addMetrics(client);
  step("documents");
  await client.addMissing(DOCUMENTS_PATH, "title", DOCUMENTS, {
    listedAt: `${DOCUMENTS_PATH}?organizationId=${organizationId}`,
    toBody: (each) => toForm(each, organizationId),
  });
  step("dashboard");
  await client.addMissing("core/widgets", "title", widgets(system));
}

async function addControls({ call, list }: Client, certificateId: string, ownerId: string) {
  const controls = await list("ai-governance/frameworks/euaiact/controls");
  const changes: Json[] = [
    { status: "implemented", evidence: [{ title: "Root certificate of the signing chain", certificateId }], ownerId },
    { status: "implemented", evidence: [{ title: "Policy", url: "https://certitude.example/policy" }] },
    { status: "in_progress", note: "The risk register is being written.", ownerId },
    { status: "not_applicable", note: "No biometric systems are in use." },
  ];
  for (const [index, change] of changes.entries()) {
    const control = controls[index];
    if (control?.status === "not_started") await call("PATCH", `ai-governance/frameworks/euaiact/controls/${control.id}`, change);
  }
}

/** A day of two metrics, one sample every ten minutes. Returns the id of the system that they are of. */
async function addMetrics({ call, list }: Client) {
  const find = async () => (await list("ai-governance/systems")).find((each) => each.key === SYSTEM)?.id;
  const known = await find();
  if (known) return known;
  const stale = (await list("ai-governance/ingest/keys")).filter((each) => each.name === COLLECTOR); // a key is shown once
  for (const { id } of stale) await call("DELETE", `ai-governance/ingest/keys/${id}`);
  const { key } = await call("POST", "ai-governance/ingest/keys", { name: COLLECTOR });
  const samples = Array.from({ length: 144 }, (_, index) => {
    const recordedAt = new Date(Date.now() - (143 - index) * (HOUR / 6)).toISOString();
    const wave = Math.sin(index / 12);
    return [
      { metric: "latency_p95", value: Math.round(420 + 90 * wave), unit: "ms", recordedAt },
      { metric: "error_rate", value: Math.round((0.02 + 0.01 * wave) * 1e4) / 1e4, recordedAt },
    ];
  }).flat();
  await call("POST", "ai-governance/ingest/metrics", { system: SYSTEM, samples }, { authorization: `Bearer ${key}` });
  return (await find()) ?? "";
}

function toForm({ title, fileName, text }: (typeof DOCUMENTS)[number], organizationId: string) {
  const form = new FormData();
  form.set("organizationId", organizationId);
  form.set("title", title);
  form.set("file", new File([text], fileName));
  return form;
}

const widgets = (system: string): Json[] => [
  { kind: "expiring_certificates_timeline", title: "What expires", position: { x: 0, y: 0, width: 8, height: 4 } },
  { kind: "agent_health", title: "Agents", position: { x: 8, y: 0, width: 4, height: 4 } },
  { kind: "assignment_drift", title: "Drift", position: { x: 0, y: 4, width: 4, height: 4 } },
  { kind: "framework_compliance_progress", title: "EU AI Act", settings: { frameworkKey: "euaiact" }, position: { x: 4, y: 4, width: 4, height: 4 } },
  {
    kind: "ai_metric_time_series",
    title: LAST_WIDGET,
    settings: { systemIds: [system], metrics: ["latency_p95"] },
    position: { x: 8, y: 4, width: 4, height: 4 },
  },
];
