import { describe, expect, expectTypeOf, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import { newStaff, settled, withJobs } from "../support/server/knowledge";
import { newOrganization } from "../support/server/people";
import { WORKER_KEY, world } from "../support/server/world";

withJobs();

const client = (headers: Record<string, string> = {}) => treaty<App>(world.url, { headers, parseDate: false });
const { documents } = client().admin["knowledge-base"];
const one = documents({ documentId: "any" });
const chunks = client().internal.knowledge.documents({ id: "any" }).chunks;
const { search } = client().organizations({ organizationId: "any" }).knowledge;

type Operation = (...args: never[]) => Promise<{ data: unknown; error: unknown }>;
type Data<Of extends Operation> = NonNullable<Awaited<ReturnType<Of>>["data"]>;
/** Elysia adds its own 422 to the types of whatever has a schema; this server never answers it. */
type Statuses<Of extends Operation> = Exclude<Extract<NonNullable<Awaited<ReturnType<Of>>["error"]>, { status: number }>["status"], 422>;

describe("knowledge", () => {
  test("its types: bodies, answers and refusals", () => {
    expectTypeOf<Parameters<typeof documents.post>[0]>().toExtend<{ file: Blob; title: string; organizationId: string }>();
    expectTypeOf<Data<typeof documents.post>["status"]>().toEqualTypeOf<"uploaded" | "indexing" | "ready" | "failed">();
    expectTypeOf<Statuses<typeof documents.post>>().toEqualTypeOf<400 | 401 | 403 | 404>();
    expectTypeOf<Data<typeof documents.get>["items"][number]["failure"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Data<typeof one.download.get>>().toEqualTypeOf<{ url: string; expiresAt: string }>();
    expectTypeOf<Statuses<typeof one.download.get>>().toEqualTypeOf<401 | 403 | 404>();
    expectTypeOf<Data<typeof one.reindex.post>>().toEqualTypeOf<{ jobId: string; documentId: string; status: "queued" | "running" }>();
    expectTypeOf<Statuses<typeof one.reindex.post>>().toEqualTypeOf<401 | 403 | 404>();
    expectTypeOf<Statuses<typeof one.delete>>().toEqualTypeOf<401 | 403 | 404 | 412>();
    expectTypeOf<Parameters<typeof chunks.post>[0]>().toEqualTypeOf<{ organizationId: string; chunks: { chunkIndex: number; text: string }[] }>();
    expectTypeOf<Statuses<typeof chunks.post>>().toEqualTypeOf<400 | 401 | 404>();
    expectTypeOf<Data<typeof search.get>["items"][number]["highlight"]>().toEqualTypeOf<string>();
    expectTypeOf<Statuses<typeof search.get>>().toEqualTypeOf<400 | 401 | 403>();
  });

  test("the way of a document, every step typed", async () => {
    const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
    const headers = { "x-user-id": staff.id };
    const base = client({ authorization: `Bearer ${staff.token}` }).admin["knowledge-base"];
    const wanted = { title: "Keys", organizationId: organization.id };
    const uploaded = await base.documents.post({ ...wanted, file: new File(["Keys rotate yearly."], "keys.md") }, { headers });
    const documentId = uploaded.data?.id ?? "";
    expect([uploaded.status, uploaded.data?.fileName]).toEqual([201, "keys.md"]);
    // @ts-expect-error without its file it is no document
    expect((await base.documents.post(wanted, { headers })).status).toBe(415);
    await settled(staff, documentId);

    const worker = client({ authorization: `Bearer ${WORKER_KEY}` }).internal.knowledge.documents({ id: documentId });
    const saved = await worker.chunks.post({ organizationId: organization.id, chunks: [{ chunkIndex: 1, text: "Locks do not." }] });
    expect([saved.status, saved.data]).toEqual([200, {}]);
    // @ts-expect-error an index is a number
    expect((await worker.chunks.post({ organizationId: organization.id, chunks: [{ chunkIndex: "1", text: "x" }] })).status).toBe(400);

    const inside = { "x-organization-id": organization.id, "x-organization-role": "ORG_MEMBER" } as const;
    const found = await client()
      .organizations({ organizationId: organization.id })
      .knowledge.search.get({ query: { q: "locks", limit: 5 }, headers: inside });
    expect(found.data?.items[0]?.highlight).toContain("<mark>Locks</mark>");

    const chosen = base.documents({ documentId });
    const link = await chosen.download.get({ headers });
    expect(await (await fetch(link.data?.url ?? "")).text()).toBe("Keys rotate yearly.");
    expect((await chosen.reindex.post({}, { headers })).data?.documentId).toBe(documentId);
    expect((await chosen.delete({}, { headers })).status).toBe(204);
    expect((await chosen.get({ headers })).error?.status).toBe(404);
  });
});
