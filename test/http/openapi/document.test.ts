import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Value } from "@sinclair/typebox/value";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { createApp } from "#app";
import { world } from "../../support/server/world";

type Json = { [key: string]: unknown };
type Media = { schema: Json; example?: unknown };
type Answer = { $ref?: string; description?: string; content?: Record<string, Media>; headers?: Json };
type Operation = {
  operationId: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: { $ref?: string; name: string; in: string; required: boolean; description?: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Answer>;
};
type Document = { openapi: string; paths: Record<string, Record<string, Operation>>; components: Record<string, Record<string, Json>> };

const answer = await fetch(`${world.url}/swagger/json`);
const text = await answer.text();
const document = JSON.parse(text) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, ...operation })),
);
const routes = createApp(world.deps).routes.filter(({ method, hooks }) => !hooks?.detail?.hide && method !== "OPTIONS");
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`;
const find = (operationId: string) => operations.find((each) => each.operationId === operationId);

/** Every object inside the document, with where it is. */
function walk(value: unknown, path = "#"): { path: string; value: Json }[] {
  if (value === null || typeof value !== "object") return [];
  const inside = Object.entries(value).flatMap(([key, each]) => walk(each, `${path}/${key}`));
  return Array.isArray(value) ? inside : [{ path, value: value as Json }, ...inside];
}
const isExample = (path: string) => /\/(example|default|enum)(\/|$)/.test(path);
const nodes = walk(document).filter(({ path }) => !isExample(path));

describe("GET /swagger/json", () => {
  test("200 a document that the official schema of OpenAPI 3.0 accepts", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document) as never);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe("3.0");
    expect(document.openapi).toBe("3.0.3");
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  test("200 names every route that is not hidden, and no other", () => {
    expect(operations.map((each) => each.name).sort()).toEqual(routes.map(nameOf).sort());
  });

  test("200 the operation ids, which clients are generated from, stay as they are", () => {
    expect(operations.map((each) => each.operationId).sort()).toEqual([
      "acceptInvitation",
      "acknowledgeNotification",
      "activateAuthority",
      "approveCertificateRequest",
      "approveIssuancePolicy",
      "bulkUpdateLabels",
      "cancelCertificateRequest",
      "cancelRotation",
      "changeControlStatus",
      "changeMemberRole",
      "createAgent",
      "createApiToken",
      "createAssignment",
      "createAssignmentPolicy",
      "createAuthority",
      "createCalendarLink",
      "createCertificateRequest",
      "createConnection",
      "createExampleNotification",
      "createIngestKey",
      "createIssuer",
      "createJoinToken",
      "createMetricThreshold",
      "createNotificationRoute",
      "createOrganization",
      "createRollout",
      "createWidget",
      "deleteAgent",
      "deleteApiToken",
      "deleteAssignment",
      "deleteAssignmentPolicy",
      "deleteAuthority",
      "deleteCalendarLink",
      "deleteConnection",
      "deleteDocument",
      "deleteIngestKey",
      "deleteIssuer",
      "deleteJoinToken",
      "deleteMetricThreshold",
      "deleteNotificationRoute",
      "deleteWidget",
      "getAgent",
      "getApiToken",
      "getAssignment",
      "getAssignmentPolicy",
      "getAuthority",
      "getCalendar",
      "getCertificate",
      "getCertificateDetails",
      "getCertificateRequest",
      "getConnection",
      "getControl",
      "getDesiredState",
      "getDocument",
      "getDocumentDownload",
      "getExpiryPolicy",
      "getIssuancePolicy",
      "getIssuer",
      "getJoinToken",
      "getMe",
      "getMetricThreshold",
      "getNotificationPreferences",
      "getNotificationRoute",
      "getOrganization",
      "getOrganizationAsStaff",
      "getRollout",
      "getRotation",
      "getWidget",
      "getWidgetData",
      "haltRollout",
      "importCertificates",
      "ingestMetrics",
      "inviteMember",
      "isLive",
      "isReady",
      "joinAgent",
      "keepHostCsr",
      "listAgents",
      "listAiSystems",
      "listApiTokens",
      "listAssignmentPolicies",
      "listAssignments",
      "listAuditEvents",
      "listAuthorities",
      "listCalendarLinks",
      "listCertificateRequests",
      "listCertificates",
      "listChunks",
      "listConnectionKinds",
      "listConnections",
      "listControls",
      "listDeployments",
      "listDocuments",
      "listDomains",
      "listFleetDeployments",
      "listFrameworkCatalogue",
      "listFrameworks",
      "listIngestKeys",
      "listIssuers",
      "listJobs",
      "listJoinTokens",
      "listMembers",
      "listMetricThresholds",
      "listMetrics",
      "listNotificationDeliveries",
      "listNotificationRoutes",
      "listOrganizations",
      "listPlatformAuditEvents",
      "listRenewals",
      "listReports",
      "listRevocations",
      "listRollouts",
      "listSigningKeys",
      "listSuccessors",
      "listTopExpiringCertificates",
      "listTrustStores",
      "listWidgetKinds",
      "listWidgets",
      "markNotificationsRead",
      "putDomain",
      "putExpiryPolicy",
      "putIssuancePolicy",
      "readInbox",
      "redeliverNotification",
      "refuseCertificateRequest",
      "refuseIssuancePolicy",
      "reindexDocument",
      "reinstateCertificate",
      "removeMember",
      "renewCertificate",
      "renewCredential",
      "reopenNotification",
      "replaceCredentials",
      "reportDeployments",
      "reportHostChallenges",
      "reportHostKeyFault",
      "resumeRollout",
      "retireCertificate",
      "revokeCertificate",
      "rollBackRollout",
      "rotateSigningKey",
      "saveChunks",
      "searchKnowledge",
      "signOut",
      "snoozeNotification",
      "startRotation",
      "streamNotifications",
      "summarizeFleet",
      "summarizeMetric",
      "testConnection",
      "testIssuer",
      "testNotificationRoute",
      "updateAgent",
      "updateAssignment",
      "updateAssignmentPolicy",
      "updateAuthority",
      "updateCertificate",
      "updateConnection",
      "updateIssuer",
      "updateMetricThreshold",
      "updateNotificationPreferences",
      "updateNotificationRoute",
      "updateOrganization",
      "updateOrganizationAsStaff",
      "updateProfile",
      "updateRotation",
      "updateWidget",
      "uploadDocument",
    ]);
  });

  test("200 the names of shapes are unique and lead somewhere", () => {
    expect(Object.keys(document.components.schemas ?? {})).toContain("Message");
    for (const { value } of nodes.filter(({ value }) => typeof value.$ref === "string")) {
      const [, , kind = "", name = ""] = String(value.$ref).split("/");
      expect(document.components[kind]?.[name]).toBeDefined();
    }
  });

  test("200 JSON is the only media type, but for the stream of notifications, the calendar and the upload of a file", () => {
    const others = nodes.filter(({ path, value }) => path.endsWith("/content") && Object.keys(value).join() !== "application/json");
    expect(others.map(({ path, value }) => [path, Object.keys(value)])).toEqual([
      ["#/paths//users/me/notifications/stream/get/responses/200/content", ["text/event-stream"]],
      ["#/paths//organizations/{organizationId}/certificates.ics/get/responses/200/content", ["text/calendar"]],
      ["#/paths//admin/knowledge-base/documents/post/requestBody/content", ["multipart/form-data"]],
    ]);
  });

  test("200 no words that OpenAPI 3.0 does not know", () => {
    const foreign = ["$id", "const", "contentMediaType", "examples", "noValidate", "patternProperties", "title"];
    const schemas = nodes.filter(({ path }) => path.includes("/schema") && !path.endsWith("/properties"));
    for (const { path, value } of schemas) expect({ path, foreign: foreign.filter((word) => word in value) }).toEqual({ path, foreign: [] });
    for (const { path, value } of schemas) expect({ path, isKnown: value.type !== "null" && !Array.isArray(value.type) }).toEqual({ path, isKnown: true });
    expect(schemas.filter(({ value }) => Array.isArray(value.anyOf) && value.anyOf.length === 1)).toEqual([]);
  });

  test("200 every parameter, operation and answer is described", () => {
    for (const { name, description, parameters = [], responses } of operations) {
      const nameless = [
        ...(description ? [] : ["operation"]),
        ...parameters.filter((each) => !each.$ref && !each.description).map((each) => each.name),
        ...Object.entries(responses).flatMap(([status, each]) => (each.$ref || each.description ? [] : status)),
      ];
      expect({ name, nameless }).toEqual({ name, nameless: [] });
    }
  });

  test("200 every field is described, where it stands or in the shape that it refers to", () => {
    const fields = nodes
      .filter(({ path }) => path.endsWith("/properties"))
      .flatMap(({ path, value }) => Object.entries(value as Record<string, Json>).map(([name, field]) => ({ path: `${path}/${name}`, field })));
    expect(fields.length).toBeGreaterThan(1_000);
    const shape = ({ $ref }: Json) => document.components.schemas?.[String($ref).split("/").at(-1) ?? ""];
    expect(fields.filter(({ field }) => !(field.description ?? shape(field)?.description)).map(({ path }) => path)).toEqual([]);
  });

  test("200 no description only repeats the name of its field", () => {
    const plain = (text: unknown) =>
      String(text)
        .toLowerCase()
        .replace(/\b(the|a|an|its|of|it|thing|this|field|value)\b|[^a-z]/g, "");
    const fields = nodes.filter(({ path }) => /\/properties\/[^/]+$/.test(path));
    const empty = fields.filter(({ path, value }) => value.description !== undefined && [plain(path.split("/").at(-1)), ""].includes(plain(value.description)));
    expect(empty.map(({ path, value }) => [path, value.description])).toEqual([]);
  });

  test("200 names the server as a client can use it: absolute, without a slash at the end", () => {
    expect((document as unknown as { servers: Json[] }).servers).toEqual([{ url: world.url, description: "This server" }]);
  });

  test("200 says who may call: everybody, a user, the staff, or who speaks for an organization", () => {
    const headers = { organizationRole: [], organizationId: [] };
    const signed = (scheme: string) => ({ [scheme]: [], agentSignature: [] });
    const callers: [RegExp, Record<string, string[]>[]][] = [
      [/\/health\//, []],
      [/\/certificates\.ics$/, []], // its link is the permission
      [/\/ingest\/metrics$/, [{ ingestKey: [] }, { ingestSignature: [] }, {}]],
      [/ \/internal\//, [{ workerKey: [] }]],
      [/ \/agent\/join$/, [signed("joinToken"), signed("agentToken")]],
      [/ \/agent\/credentials$/, [{ agentSignature: [] }]],
      [/ \/agent\//, [{ agentToken: [] }, signed("agentCredential")]],
      [/ \/organizations\//, [{ userToken: [], ...headers }, { apiToken: [], ...headers }, headers]],
      [/ \/portal\//, [{ userToken: [] }, { apiToken: [] }]],
      [/ \/admin\//, [{ userToken: [], platformAdmin: [] }]],
      [/./, [{ userToken: [] }]],
    ];
    const expected = (name: string) => callers.find(([path]) => path.test(name))?.[1] ?? [];
    for (const { name, security } of operations) expect({ name, security }).toEqual({ name, security: expected(name) });
    expect(Object.keys(document.components.securitySchemes ?? {}).sort()).toEqual([
      "agentCredential",
      "agentSignature",
      "agentToken",
      "apiToken",
      "ingestKey",
      "ingestSignature",
      "joinToken",
      "organizationId",
      "organizationRole",
      "platformAdmin",
      "userToken",
      "workerKey",
    ]);
  });

  test.each([
    ["updateProfile", ["200", "401"]],
    ["signOut", ["204", "401"]],
    ["getCertificateDetails", ["200", "401", "404"]],
    ["listTopExpiringCertificates", ["200", "401", "403"]],
    ["importCertificates", ["200", "201", "401", "403"]],
    ["reinstateCertificate", ["200", "401", "403", "404", "409", "412"]],
    ["revokeCertificate", ["200", "401", "403", "404", "409", "412"]],
    ["retireCertificate", ["204", "401", "403", "404", "412"]],
  ])("200 %s may answer %p, and what any may answer", (operationId, own) => {
    const statuses = Object.keys(find(operationId)?.responses ?? {});
    expect(statuses).toEqual(expect.arrayContaining([...own, "400", "429", "500", "503"]));
    const isReading = operationId.startsWith("list") || operationId.startsWith("get");
    expect(statuses.filter((status) => !own.includes(status))).toEqual(isReading ? ["400", "429", "500", "503"] : expect.arrayContaining(["413", "415"]));
  });

  test("200 an operation that can be stale takes If-Match, and what it answers carries the ETag", () => {
    for (const { name, parameters = [], responses } of operations) {
      const takes = (header: string) => parameters.some((each) => each.$ref === `#/components/parameters/${header}`);
      expect({ name, takes: [takes("If-Match"), takes("If-None-Match")] }).toEqual({ name, takes: ["412" in responses, "304" in responses] });
    }
    expect(find("getCertificate")?.responses["200"]?.headers).toHaveProperty("ETag");
    expect(find("revokeCertificate")?.responses["200"]?.headers).toHaveProperty("ETag");
    expect(find("inviteMember")?.responses["201"]?.headers).toHaveProperty("ETag");
    expect(find("getCertificateDetails")?.responses["200"]?.headers).not.toHaveProperty("ETag");
  });

  test("200 a header that the security names need not be given in each call too", () => {
    const schemes = Object.values(document.components.securitySchemes ?? {}).filter(({ type }) => type === "apiKey");
    const headers = operations.flatMap(({ parameters = [] }) => parameters).filter((each) => schemes.some(({ name }) => name === each.name));
    expect(new Set(headers.map(({ name }) => name))).toEqual(new Set(["x-organization-id", "x-organization-role", "x-user-id", "webhook-signature"]));
    expect(headers.filter((each) => each.required).map(({ name }) => name)).toEqual([]);
  });

  test("200 x-user-id is for platform staff, and on the invitation of a member", () => {
    const takers = operations.filter(({ parameters = [] }) => parameters.some((each) => each.name === "x-user-id")).map(({ name }) => name);
    expect(takers.filter((name) => !name.includes(" /admin/"))).toEqual(["POST /organizations/{organizationId}/members"]);
  });

  test("200 every 401 carries WWW-Authenticate", () => {
    const refusals = operations
      .flatMap(({ responses }) => responses["401"] ?? [])
      .map((each) => (each.$ref ? document.components.responses?.Unauthorized : each));
    expect(refusals.length).toBeGreaterThan(0);
    for (const each of refusals) expect(each?.headers).toHaveProperty("WWW-Authenticate");
  });

  test("200 every body has an example, which its schema allows", () => {
    const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true })).addSchema({ components: document.components }, "document");
    const inDocument = (schema: unknown): Json => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
    const media = nodes.filter(({ path }) => path.endsWith("/content/application/json"));
    expect(media.length).toBeGreaterThan(operations.length);
    for (const { path, value } of media) {
      const validate = ajv.compile(inDocument(value.schema));
      expect({ path, valid: validate(value.example), errors: validate.errors }).toEqual({ path, valid: true, errors: null });
    }
  });

  test("200 the example of every request body passes the server's own check", () => {
    const withBody = routes.filter(({ hooks }) => hooks?.body && !hooks.body.contentMediaType);
    expect(withBody.length).toBe(operations.filter((each) => each.requestBody?.content["application/json"]).length);
    for (const route of withBody) {
      const operation = operations.find((each) => each.name === nameOf(route));
      expect([...Value.Errors(route.hooks.body, operation?.requestBody?.content["application/json"]?.example)]).toEqual([]);
    }
  });

  test("304 for the tag it came with, also among others or weak, and 200 for another", async () => {
    const tag = answer.headers.get("etag") ?? "";
    const ask = (known: string) => fetch(`${world.url}/swagger/json`, { headers: { "if-none-match": known } });
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await ask(known);
      expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, tag, ""]);
    }
    const other = await ask('"other"');
    expect([other.status, await other.text()]).toEqual([200, text]);
  });

  test("200 carries the request's id", () => {
    expect(answer.headers.get("x-request-id")).toMatch(/^[\w.:-]+$/);
  });
});

describe("GET /swagger", () => {
  test("200 a page whose every file is the server's own, with a strict policy", async () => {
    const page = await fetch(`${world.url}/swagger`);
    const html = await page.text();
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).not.toContain("script-src 'self' 'unsafe-inline'");
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)]
      .map(([, url = ""]) => url)
      .filter((url) => !url.startsWith("data:") && !["swagger/json", "docs"].includes(url));
    expect(files.length).toBe(3);
    for (const file of files) {
      const served = await fetch(`${world.url}/${file}`);
      expect([served.status, served.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
    }
  });
});
