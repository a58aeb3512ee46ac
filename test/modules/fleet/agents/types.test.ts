import { expect, expectTypeOf, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import { importRoot } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const api = treaty<App>(world.url, { parseDate: false });

test("a typed client of agents, assignments and trust stores knows bodies, answers and refusals", async () => {
  const organization = await newOrganization();
  const as = { headers: { "x-organization-id": organization.id, "x-organization-role": "ORG_ADMIN" as const } };
  const scope = api.organizations({ organizationId: organization.id });

  const enrolled = await scope.agents.post({ name: "web-01", labels: { env: "prod" } }, as);
  if (enrolled.error) throw new Error("the agent was refused");
  expectTypeOf(enrolled.data.token).toEqualTypeOf<string>();
  expectTypeOf(enrolled.data.labels).toEqualTypeOf<Record<string, string>>();
  const agent = scope.agents({ agentId: enrolled.data.id });
  const found = await scope.agents.get({ ...as, query: { selector: "env in (prod,test)", limit: 20 } });
  expectTypeOf<NonNullable<typeof found.data>["items"][number]>().not.toHaveProperty("token");
  expect(found.data?.items[0]?.id).toBe(enrolled.data.id);
  // @ts-expect-error a label is text
  expect((await scope.agents.post({ name: "web-02", labels: { env: 1 } }, as)).status).toBe(400);

  const labelled = await scope["fleet-operations"]["bulk-label-update"].post({ selector: { env: "prod" }, set: { tier: "edge" } }, as);
  expectTypeOf<NonNullable<typeof labelled.data>>().toEqualTypeOf<{ matched: number; updated: number; notFound: string[] }>();
  expect(labelled.data).toEqual({ matched: 1, updated: 1, notFound: [] });

  const certificateId = await importRoot(organization);
  const made = await agent.assignments.post({ applicationId: "a", certificateId, trustStoreType: "java_cacerts", config: { alias: "root" } }, as);
  if (made.error) throw new Error("the assignment was refused");
  expectTypeOf(made.data.materialType).toEqualTypeOf<"trust_anchor" | "intermediate_ca" | "server_certificate" | "client_certificate">();
  expectTypeOf(made.data.config.reloadCommand).toEqualTypeOf<string[] | undefined>();
  // @ts-expect-error there is no such store
  expect((await agent.assignments.post({ applicationId: "a", certificateId, trustStoreType: "floppy" }, as)).status).toBe(400);
  const again = await agent.assignments.post({ applicationId: "b", certificateId, trustStoreType: "java_cacerts", config: { alias: "root" } }, as);
  expect(again.error?.status).toBe(409);
  const one = agent.assignments({ assignmentId: made.data.id });
  expect((await one.patch({ enabled: false, config: { verifyServerName: null } }, as)).data?.version).toBe(2);
  // @ts-expect-error the store of an assignment never changes
  expect((await one.patch({ trustStoreType: "java_cacerts" }, as)).status).toBe(400);

  const catalogue = await scope.certs["trust-store-catalog"].get(as);
  expectTypeOf<NonNullable<typeof catalogue.data>["items"][number]["agentInstallable"]>().toEqualTypeOf<boolean>();
  expect(catalogue.data?.clientOnlyLanguages[0]?.agentInstallable).toBe(false);
});

test("a typed agent knows what to ask and what to report", async () => {
  const organization = await newOrganization();
  const { body } = await organization.admin("POST", "/agents", { body: { name: "web-01" } });
  const { agent } = treaty<App>(world.url, { parseDate: false, headers: { authorization: `Bearer ${body.token}` } });
  const desired = await agent.assignments.get();
  type Item = NonNullable<typeof desired.data>["items"][number];
  expectTypeOf<Pick<Item, "pem" | "chain" | "privateKeyPem">>().toEqualTypeOf<{ pem: string; chain: string[]; privateKeyPem: string | null }>();
  expect(desired.data).toEqual({ items: [], keep: [], remove: [], keys: [], challenges: [] });
  expect((await agent.reports.post({ reports: [], host: { hostname: "web-01" } })).status).toBe(204);
  // @ts-expect-error there is no such state
  expect((await agent.reports.post({ reports: [{ assignmentId: body.id, state: "gone" }] })).status).toBe(400);
});
