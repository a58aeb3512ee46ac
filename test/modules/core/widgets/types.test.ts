import { expect, expectTypeOf, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import type { Kind } from "#modules/core/widgets/rules/kinds";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

test("a typed client of connections and widgets knows bodies, answers and refusals", async () => {
  const organization = await newOrganization();
  const api = treaty<App>(world.url, { parseDate: false });
  const as = { headers: { "x-organization-id": organization.id, "x-organization-role": "ORG_ADMIN" as const } };
  const { connections, widgets } = api.organizations({ organizationId: organization.id }).core;

  const connection = await connections.post({ kind: "s3", name: "Store", config: { region: "eu-central-1", bucket: "certs" } }, as);
  if (connection.error) throw new Error("the connection was refused");
  expectTypeOf(connection.data.secretNames).toEqualTypeOf<string[]>();
  expectTypeOf(connection.data.lastTest).toEqualTypeOf<{ outcome: "ok" | "failed" | "unsupported"; message: string; testedAt: string } | null>();
  const tested = await connections({ connectionId: connection.data.id }).test.post({}, as);
  expectTypeOf<NonNullable<typeof tested.data>["outcome"]>().toEqualTypeOf<"ok" | "failed" | "unsupported">();
  expect(tested.data?.outcome).toBe("unsupported");
  // @ts-expect-error there is no such kind
  expect((await connections.post({ kind: "gitlab", name: "x" }, as)).status).toBe(400);
  // @ts-expect-error a connection's kind never changes
  expect((await connections({ connectionId: connection.data.id }).patch({ kind: "s3" }, as)).status).toBe(400);

  const widget = await widgets.post({ kind: "agent_health", title: "Agents", position: { x: 0, y: 0, width: 4, height: 4 } }, as);
  if (widget.error) throw new Error("the widget was refused");
  expectTypeOf(widget.data.kind).toEqualTypeOf<Kind>();
  expectTypeOf(widget.data.position).toEqualTypeOf<{ x: number; y: number; width: number; height: number }>();
  const moved = await widgets({ widgetId: widget.data.id }).patch({ position: { y: 7 } }, as);
  expect(moved.data?.position).toEqual({ x: 0, y: 7, width: 4, height: 4 });
  const { data } = await widgets({ widgetId: widget.data.id }).data.get(as);
  if (data && "agents" in data.data) expectTypeOf(data.data.agents[0]?.status).toEqualTypeOf<"online" | "late" | "silent" | undefined>();
  expect(data).toMatchObject({ kind: "agent_health", data: { total: 0, agents: [] } });
  // @ts-expect-error a position is whole
  expect((await widgets.post({ kind: "agent_health", title: "x", position: { x: 0, y: 0 } }, as)).status).toBe(400);
});
