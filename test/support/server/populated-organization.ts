import { afterAll, beforeAll } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { DEFAULT_POLICY } from "#modules/issuance/issuing/rules/policy";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { fillPath, type Operation, plainWay } from "../openapi/document";
import { certificate, importInto } from "../pki/certificates";
import { newApiToken } from "./api-tokens";
import { call, type Wish } from "./call";
import { addEvent, dispatch } from "./dispatching";
import { newHost, newJoinToken, type TestHost } from "./hosts";
import { DOCUMENTS, form } from "./knowledge";
import { newOrganization, type TestOrganization } from "./people";
import { WORKER_KEY, world } from "./world";

type Ids = Record<string, string>;
/** The request that a signature covers. */
type Sent = { path?: string; raw?: string | Uint8Array | undefined };
/** `host` has joined, and signs. */
type Made = { organization: TestOrganization; user: { id: string; token: string }; host: TestHost; ids: Ids; keys: Ids };

/** Prepares the queue that uploads put their indexing into; no job runs. */
export function withQueue() {
  beforeAll(() => prepareJobs(world.deps));
  afterAll(() => world.deps.queue.stop());
}

/** Makes one of everything that an organization can have, over the API, and a user who may do everything with it. */
export async function populatedOrganization() {
  const organization = await newOrganization();
  const user = await organization.join();
  await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
  const ids: Ids = { organizationId: organization.id, ownerId: user.id, domain: `${organization.id}.example` };
  const keys: Ids = { workerKey: WORKER_KEY, userToken: user.token };
  const host = newHost();
  const made = { organization, user, host, ids, keys };
  for (const make of MAKERS) await make(made);

  /** Returns the credentials that let the owner in: the plainest way that the document names, or the one with the user's token. */
  function credentials(operation: Operation, withToken = false, { path = pathOf(operation), raw }: Sent = {}): Record<string, string> {
    const { security, method, id } = operation;
    const way = (withToken && security.find((each) => each.includes("userToken"))) || plainWay(security);
    if (!way?.includes("agentSignature")) return Object.assign({}, ...(way ?? []).map((scheme) => headersOf(scheme)));
    const signer = id === "joinAgent" ? newHost() : host; // a key joins only once
    return signer.sign({ method, path, raw, token: keys[way.find((each) => each !== "agentSignature") ?? ""] });
  }

  function headersOf(scheme: string): Record<string, string> {
    if (scheme === "organizationId") return { "x-organization-id": organization.id };
    if (scheme === "organizationRole") return { "x-organization-role": "ORG_ADMIN" };
    if (scheme === "platformAdmin") return { "x-user-id": user.id };
    if (!keys[scheme]) throw new Error(`everything.ts makes no ${scheme}`);
    return { authorization: `Bearer ${keys[scheme]}` };
  }

  const pathOf = ({ path }: Operation, others: Ids = {}) => fillPath(path, (name) => others[name] ?? idOf(name));

  function idOf(name: string) {
    const id = ids[name];
    if (id === undefined) throw new Error(`everything.ts makes nothing with a ${name}`);
    return id;
  }

  /** `value` with the organization's ids wherever it names one. */
  const adopt = (value: unknown) => replaceIds(value, "", ids);
  const bodyOf = ({ body }: Operation) => adopt(body?.example);

  /** A request that the owner may make and that is right, but for what is said. */
  async function send(operation: Operation, { ids: others, body = bodyOf(operation), headers, ...rest }: Wish & { ids?: Ids } = {}) {
    const encoded = operation.body && rest.raw === undefined ? await encode(operation, body) : undefined;
    const path = pathOf(operation, others);
    const all = { ...encoded?.headers, ...credentials(operation, false, { path, raw: (rest.raw ?? encoded?.raw) as Sent["raw"] }), ...headers };
    return call(operation.method, path, { ...(encoded?.raw !== undefined && { raw: encoded.raw }), ...rest, headers: all });
  }

  return { ...made, credentials, pathOf, adopt, bodyOf, send };
}

export type PopulatedOrganization = Awaited<ReturnType<typeof populatedOrganization>>;

function replaceIds(value: unknown, name: string, ids: Ids): unknown {
  if (Array.isArray(value)) return value.map((each) => replaceIds(each, name.replace(/s$/, ""), ids));
  if (typeof value === "string") return ids[name] ?? value;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceIds(each, key, ids)]));
}

/** The body in the words of the operation: JSON, or a form whose `file` is one. */
async function encode({ body }: Operation, value: unknown): Promise<Wish> {
  if (body?.type !== "multipart/form-data") return { raw: JSON.stringify(value), headers: { "content-type": "application/json" } };
  const fields = Object.entries(value as Ids).map(([name, each]): [string, string | File] => [name, name === "file" ? new File([each], "policy.md") : each]);
  return form(Object.fromEntries(fields));
}

function must<Answer extends { status: number; text: string }>(answer: Answer) {
  if (answer.status >= 300) throw new Error(`making one of everything was answered ${answer.status}: ${answer.text}`);
  return answer;
}

const MAKERS: ((made: Made) => Promise<void>)[] = [
  async function makeMember({ organization, ids }) {
    const body = { email: `${crypto.randomUUID()}@people.example` };
    ids.memberId = must(await organization.admin("POST", "/members", { body })).body.id;
  },
  async function makeCertificate({ organization, ids }) {
    const [id = ""] = await importInto(organization, certificate({ isCa: true }).pem);
    ids.certificateId = id;
  },
  async function makeAuthority({ organization, ids }) {
    const body = { kind: "root", name: "Root CA", subject: { commonName: "Example Root CA" } };
    ids.authorityId = must(await organization.admin("POST", "/authorities", { body })).body.id;
  },
  async function makeAgent({ organization, ids, keys }) {
    const { body } = must(await organization.admin("POST", "/agents", { body: { name: "web-01", labels: { env: "prod" } } }));
    Object.assign(ids, { agentId: body.id });
    Object.assign(keys, { agentToken: body.token });
  },
  async function joinHost(made) {
    const { organization, ids, keys } = made;
    const { id, token } = await newJoinToken(organization, { labels: { env: "test" }, maxUses: 100_000 });
    const { agentId, credential, signingKey } = must(await made.host.call("POST", "/agent/join", { token, body: { name: "web-02" } })).body;
    Object.assign(ids, { joinTokenId: id, joinedAgentId: agentId, of: signingKey });
    Object.assign(keys, { joinToken: token, agentCredential: credential });
  },
  async function makeAssignment({ organization, ids }) {
    const body = { applicationId: "payments", certificateId: ids.certificateId, trustStoreType: "linux_update_ca_certificates" };
    ids.assignmentId = must(await organization.admin("POST", `/agents/${ids.agentId}/assignments`, { body })).body.id;
  },
  async function makeRollout({ organization, ids }) {
    const assignment = { applicationId: "mail", certificateId: ids.certificateId, trustStoreType: "openssl_ca_dir" };
    const body = { name: "Canaries first", assignment, rings: [{ selector: "env=prod" }] };
    ids.rolloutId = must(await organization.admin("POST", "/rollouts", { body })).body.id;
  },
  async function makePolicy({ organization, ids }) {
    const body = { selector: "env=prod", applicationId: "shop", certificateId: ids.certificateId, trustStoreType: "curl_ca_bundle", config: { alias: "shop" } };
    ids.policyId = must(await organization.admin("POST", "/assignment-policies", { body })).body.id;
  },
  async function startRotation({ organization, ids }) {
    const [certificateId] = await importInto(organization, certificate({ isCa: true }).pem);
    must(await organization.admin("POST", `/certificates/${ids.certificateId}/successor`, { body: { certificateId } }));
  },
  async function makeConnection({ organization, ids }) {
    const body = { kind: "smtp", name: "Mail", config: { host: "mail.example", fromAddress: "ops@certitude.example" } };
    ids.connectionId = must(await organization.admin("POST", "/core/connections", { body })).body.id;
  },
  async function makeIssuer({ organization, ids }) {
    const body = { kind: "acme", name: "Our CA", config: { directoryUrl: "https://acme.example/directory" } };
    ids.issuerId = must(await organization.admin("POST", "/issuers", { body })).body.id;
  },
  async function orderCertificate({ organization, ids }) {
    const other = { kind: "acme", name: "Another CA", config: { directoryUrl: "https://acme.example/directory" } };
    const issuerId = must(await organization.admin("POST", "/issuers", { body: other })).body.id; // the first one may be deleted
    const body = { issuerId, names: ["www.certitude.example"], key: { location: "server" } };
    ids.requestId = must(await organization.admin("POST", "/certificate-requests", { body })).body.id;
    ids.proposalId = Bun.randomUUIDv7();
    const proposal = { ...DEFAULT_POLICY, id: ids.proposalId, proposedBy: { type: "user", id: crypto.randomUUID() }, proposedAt: new Date().toISOString() };
    await world.sql`insert into issuance_policies (organization_id, proposal) values (${organization.id}, ${JSON.stringify(proposal)}::text::jsonb)`; // in force, it would have all orders wait
  },
  async function renewCertificates({ organization, ids }) {
    const body = { kind: "acme", name: "One that is gone", config: { directoryUrl: "https://acme.example/directory" } };
    const issuerId = String(must(await organization.admin("POST", "/issuers", { body })).body.id);
    must(await organization.admin("DELETE", `/issuers/${issuerId}`));
    await world.sql`
      insert into renewals (organization_id, certificate_id, issuer_id, template_id, state, renew_at, late_at)
      values (${organization.id}, ${ids.certificateId ?? ""}, ${issuerId}, ${ids.requestId ?? ""}, 'ended', now(), now())`;
    await world.sql`insert into renewal_rests (organization_id, issuer_id, failures) values (${organization.id}, ${issuerId}, 1)`;
  },
  async function makeWidget({ organization, ids }) {
    const body = { kind: "expiring_certificates_timeline", title: "What expires" };
    ids.widgetId = must(await organization.admin("POST", "/core/widgets", { body })).body.id;
  },
  async function changeControl({ organization, ids }) {
    const { body } = must(await organization.admin("GET", "/ai-governance/frameworks/euaiact/controls"));
    Object.assign(ids, { frameworkKey: "euaiact", controlId: body.items[0].id });
    must(await organization.admin("PATCH", `/ai-governance/frameworks/euaiact/controls/${ids.controlId}`, { body: { status: "in_progress" } }));
  },
  async function makeApiToken({ organization, ids, keys }) {
    const { id, token } = await newApiToken(organization);
    Object.assign(ids, { apiTokenId: id });
    Object.assign(keys, { apiToken: token });
  },
  async function ingestMetrics({ organization, ids, keys }) {
    const { body } = must(await organization.admin("POST", "/ai-governance/ingest/keys", { body: { name: "Collectors" } }));
    Object.assign(ids, { keyId: body.id, system: "scoring", metric: "accuracy" });
    Object.assign(keys, { ingestKey: body.key });
    const sample = { metric: "accuracy", value: 0.9, recordedAt: new Date().toISOString() };
    const path = `/organizations/${organization.id}/ai-governance/ingest/metrics`;
    must(await call("POST", path, { token: body.key, body: { system: "scoring", samples: [sample] } }));
  },
  async function uploadDocument({ organization, user, ids }) {
    const file = new File(["# Keys\n\nKeys rotate yearly."], "keys.md");
    const sent = await form({ file, title: "Key management", organizationId: organization.id });
    const { body } = must(await call("POST", DOCUMENTS, { token: user.token, ...sent, headers: { ...sent.headers, "x-user-id": user.id } }));
    Object.assign(ids, { documentId: body.id, id: body.id });
    const chunks = { organizationId: organization.id, chunks: [{ chunkIndex: 0, text: "Keys rotate yearly." }] };
    must(await call("POST", `/internal/knowledge/documents/${body.id}/chunks`, { token: WORKER_KEY, body: chunks }));
  },
  async function makeMetricThreshold({ organization, ids }) {
    const body = { system: "scoring", metric: "latency", max: 300 };
    ids.thresholdId = must(await organization.admin("POST", "/ai-governance/metric-thresholds", { body })).body.id;
  },
  async function makeCalendarLink({ organization, ids }) {
    const { id, url } = must(await organization.admin("POST", "/certificates/calendar-links", { body: { name: "Operations" } })).body;
    Object.assign(ids, { calendarLinkId: id, key: new URL(url).searchParams.get("key") });
  },
  async function makeNotificationRoute({ organization, ids }) {
    const connection = { kind: "smtp", name: "Channel", config: { host: "mail.example", fromAddress: "ops@certitude.example" } };
    const { id } = must(await organization.admin("POST", "/core/connections", { body: connection })).body;
    // Its address is refused at once, so that no test leaves this machine.
    await world.sql`update connections set config = config || '{"host": "127.0.0.1"}' where organization_id = ${organization.id} and id = ${id}`;
    const body = { name: "Operations", kinds: ["agent_silent"], target: { connectionId: id } };
    ids.routeId = must(await organization.admin("POST", "/notification-routes", { body })).body.id;
  },
  async function reportOfAgent({ organization, user, ids }) {
    await addEvent(organization.id, { kind: "agent_silent", facts: { name: "web-03", lastSeenAt: new Date().toISOString() }, userId: user.id, role: null });
    while (!ids.notificationId) {
      await dispatch(); // leaves out what another turn is at
      const { items } = must(await call("GET", "/users/me/notifications/inbox", { token: user.token })).body;
      ids.notificationId = items.find(({ kind }: { kind: string }) => kind === "agent_silent")?.id ?? "";
    }
    const { body } = must(await organization.admin("GET", `/notification-routes/${ids.routeId}/deliveries`));
    ids.deliveryId = body.items[0].id;
  },
];
