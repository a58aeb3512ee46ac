import { describe, expect, expectTypeOf, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import { control } from "../modules/governance/frameworks/controls";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

const client = (headers: Record<string, string> = {}) => treaty<App>(world.url, { headers, parseDate: false });
const governance = client().organizations({ organizationId: "any" })["ai-governance"];
const one = governance.frameworks({ frameworkKey: "iso" }).controls({ controlId: "any" });

type Operation = (...args: never[]) => Promise<{ data: unknown; error: unknown }>;
type Data<Of extends Operation> = NonNullable<Awaited<ReturnType<Of>>["data"]>;
/** Elysia adds its own 422 to the types of whatever has a schema; this server never answers it. */
type Statuses<Of extends Operation> = Exclude<Extract<NonNullable<Awaited<ReturnType<Of>>["error"]>, { status: number }>["status"], 422>;
type Status = "not_started" | "in_progress" | "implemented" | "not_applicable";

describe("{org}/ai-governance", () => {
  type Change = typeof one.patch;
  type Ingest = typeof governance.ingest.metrics.post;
  type Summarize = typeof governance.metrics.get;
  type CreateKey = typeof governance.ingest.keys.post;

  test("its types: bodies, answers and refusals", () => {
    expectTypeOf<Parameters<Change>[0]["status"]>().toEqualTypeOf<Status>();
    expectTypeOf<Parameters<Change>[0]["note"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<Data<Change>["status"]>().toEqualTypeOf<Status>();
    expectTypeOf<Data<Change>["dueDate"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Statuses<Change>>().toEqualTypeOf<400 | 401 | 403 | 404 | 412>();
    expectTypeOf<Data<typeof one.get>["history"]["items"][number]["status"]>().toEqualTypeOf<Status>();
    expectTypeOf<Data<typeof governance.frameworks.get>["items"][number]["progress"]["percent"]>().toEqualTypeOf<number>();
    expectTypeOf<Parameters<Ingest>[0]["samples"][number]["value"]>().toEqualTypeOf<number>();
    expectTypeOf<Parameters<Ingest>[0]["samples"][number]["labels"]>().toEqualTypeOf<Record<string, string> | undefined>();
    expectTypeOf<Data<Ingest>>().toEqualTypeOf<{ accepted: number; duplicates: number }>();
    expectTypeOf<Statuses<Ingest>>().toEqualTypeOf<400 | 401 | 403>();
    expectTypeOf<Data<Summarize>["items"][number]>().toEqualTypeOf<{ at: string; min: number; max: number; mean: number; count: number }>();
    expectTypeOf<Statuses<Summarize>>().toEqualTypeOf<400 | 401 | 403 | 404>();
    expectTypeOf<Data<CreateKey>["key"]>().toEqualTypeOf<string>();
    expectTypeOf<Statuses<CreateKey>>().toEqualTypeOf<400 | 401 | 403 | 409>();
    expectTypeOf<Data<typeof governance.ingest.keys.get>["items"][number]>().not.toHaveProperty("key");
  });

  test("the way of a control and of a sample, every step typed", async () => {
    const organization = await newOrganization();
    const headers = { "x-organization-id": organization.id, "x-organization-role": "ORG_ADMIN" } as const;
    const api = client().organizations({ organizationId: organization.id })["ai-governance"];
    const chosen = api.frameworks({ frameworkKey: "iso" }).controls({ controlId: control("iso").id });
    // @ts-expect-error there is no such status
    expect((await chosen.patch({ status: "done" }, { headers })).status).toBe(400);
    expect((await chosen.patch({ status: "implemented", note: "Done." }, { headers })).data?.version).toBe(1);
    expect((await chosen.get({ headers, query: { limit: 1 } })).data?.history.items[0]?.note).toBe("Done.");
    expect((await api.frameworks.get({ headers })).data?.items[2]?.progress.counts.implemented).toBe(1);

    const key = (await api.ingest.keys.post({ name: "Collectors" }, { headers })).data?.key ?? "";
    const sender = client({ authorization: `Bearer ${key}` }).organizations({ organizationId: organization.id })["ai-governance"].ingest.metrics;
    // @ts-expect-error a value is a number
    expect((await sender.post({ system: "chat", samples: [{ metric: "accuracy", value: "1" }] })).status).toBe(400);
    expect((await sender.post({ system: "chat", samples: [{ metric: "accuracy", value: 1 }] })).data).toEqual({ accepted: 1, duplicates: 0 });
    const summary = await api.metrics.get({ headers, query: { system: "chat", metric: "accuracy" } });
    expect([summary.data?.metric, summary.data?.step]).toEqual(["accuracy", 3_600]);
    // @ts-expect-error which metric?
    expect((await api.metrics.get({ headers, query: { system: "chat" } })).status).toBe(400);
    expect((await api.ingest.keys({ keyId: "any" }).delete({}, { headers })).status).toBe(404);
  });
});

describe("GET /admin/ai-governance/catalog", () => {
  const { catalog } = client().admin["ai-governance"];

  test("its types: query, frameworks and refusals", () => {
    type Framework = Data<typeof catalog.get>["items"][number];
    expectTypeOf<Framework["key"]>().toEqualTypeOf<"euaiact" | "nist" | "iso">();
    expectTypeOf<Framework["controls"][number]["ref"]>().toEqualTypeOf<string>();
    expectTypeOf<Statuses<typeof catalog.get>>().toExtend<304 | 400 | 401 | 403>();
  });
});
