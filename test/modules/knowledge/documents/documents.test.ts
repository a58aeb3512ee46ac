import { describe, expect, test } from "bun:test";
import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sweepObjects } from "#jobs/sweep-objects";
import { call } from "../../../support/server/call";
import { actionsOf, DOCUMENTS, newStaff, saveChunks, upload, withDocument, withJobs } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
import { world } from "../../../support/server/world";

withJobs();

const objects = join(world.directory, "objects");
const idsOf = (body: { items: { id: string }[] }) => body.items.map((each) => each.id);

describe("GET /admin/knowledge-base/documents", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    expect(await call("GET", DOCUMENTS)).toMatchObject({ status: 401, body: "" });
    expect((await user.call("GET", DOCUMENTS, { headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test.each(["limit=0", "limit=101", "limit=x", "cursor=zzz", "organizationId=x", "status=gone"])("400 for ?%s", async (query) => {
    expect((await (await newStaff()).call("GET", `${DOCUMENTS}?${query}`)).status).toBe(400);
  });

  test("200 newest first, page by page, of every organization or of one", async () => {
    const [staff, one, other] = await Promise.all([newStaff(), newOrganization(), newOrganization()]);
    const ids: string[] = [];
    for (const organization of [one, other, one, one]) ids.push((await upload(staff, organization.id)).id);
    const [first, second, third, fourth] = ids as [string, string, string, string];
    const all = (await staff.call("GET", `${DOCUMENTS}?limit=4`)).body;
    expect(idsOf(all)).toEqual([fourth, third, second, first]);
    const page = (await staff.call("GET", `${DOCUMENTS}?organizationId=${one.id}&limit=2`)).body;
    expect(idsOf(page)).toEqual([fourth, third]);
    const last = (await staff.call("GET", `${DOCUMENTS}?organizationId=${one.id}&limit=2&cursor=${page.nextCursor}`)).body;
    expect([idsOf(last), last.nextCursor]).toEqual([[first], null]);
    expect((await staff.call("GET", `${DOCUMENTS}?organizationId=${one.id}&status=failed`)).body.items).toEqual([]);
  });
});

describe("GET /admin/knowledge-base/documents/{documentId} and its chunks", () => {
  test("404 for what is no document", async () => {
    const staff = await newStaff();
    for (const id of ["x", Bun.randomUUIDv7()])
      for (const path of [id, `${id}/chunks`]) expect((await staff.call("GET", `${DOCUMENTS}/${path}`)).status).toBe(404);
  });

  test("400 for a cursor that is none of ours, or beyond every number", async () => {
    const { staff, path } = await withDocument();
    const cursor = (key: unknown) => Buffer.from(JSON.stringify(key)).toString("base64url");
    for (const key of [["x"], ["-1"], [1], [], ["1", "2"], ["99999999999"]])
      expect((await staff.call("GET", `${path}/chunks?cursor=${cursor(key)}`)).status).toBe(400);
    expect((await staff.call("GET", `${path}/chunks?cursor=${cursor(["9999999999"])}`)).body.items).toEqual([]);
  });

  test("200 with the ETag; the chunks in order, page by page", async () => {
    const { staff, path, id, organization } = await withDocument();
    await saveChunks(id, { organizationId: organization.id, chunks: [10, 2, 33].map((chunkIndex) => ({ chunkIndex, text: `Passage ${chunkIndex}` })) });
    const one = await staff.call("GET", path);
    expect(one.headers.get("etag")).toEqual(readTag(one.body.version));
    const first = (await staff.call("GET", `${path}/chunks?limit=3`)).body;
    const second = (await staff.call("GET", `${path}/chunks?limit=3&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items].map((each) => each.chunkIndex)).toEqual([0, 2, 10, 33]);
  });
});

describe("DELETE /admin/knowledge-base/documents/{documentId}", () => {
  test("404 for what is no document", async () => {
    const staff = await newStaff();
    for (const id of ["x", Bun.randomUUIDv7()]) expect((await staff.call("DELETE", `${DOCUMENTS}/${id}`)).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing is gone", async () => {
    const { staff, organization, path, id } = await withDocument();
    for (const tag of ['"1"', "nonsense"]) expect(await staff.call("DELETE", path, { headers: { "if-match": tag } })).toMatchObject({ status: 412, body: {} });
    expect((await staff.call("GET", path)).status).toBe(200);
    expect(existsSync(join(objects, `${organization.id}.${id}`))).toBe(true);
  });

  test("204 removes its chunks and its file, once", async () => {
    const { staff, organization, path, id, search } = await withDocument({ text: "The zebra crosses." });
    expect(await search("zebra")).toHaveLength(1);
    const tag = (await staff.call("GET", path)).headers.get("etag") ?? "";
    const answers = await Promise.all(Array.from({ length: 20 }, () => staff.call("DELETE", path, { headers: { "if-match": tag } })));
    expect(answers.filter((each) => each.status === 204)).toHaveLength(1);
    expect(answers.every((each) => [204, 404, 412].includes(each.status))).toBe(true);
    for (const gone of [path, `${path}/chunks`, `${path}/download`]) expect((await staff.call("GET", gone)).status).toBe(404);
    expect(await search("zebra")).toEqual([]);
    expect(existsSync(join(objects, `${organization.id}.${id}`))).toBe(false);
    expect(await world.sql`select from document_chunks where organization_id = ${organization.id}`).toHaveLength(0);
    const deleted = (await actionsOf(organization)).filter((each) => each.action === "document.deleted");
    expect(deleted).toMatchObject([{ targetId: id, actor: { type: "user", id: staff.id }, details: { title: "Keys", fileName: "keys.md" } }]);
  });
});

describe("an object that no document names", () => {
  test("is removed when it is an hour old, and none of another database is", async () => {
    const { organization, id } = await withDocument();
    const leave = (name: string, hours: number) => {
      const path = join(objects, name);
      writeFileSync(path, "left behind");
      utimesSync(path, new Date(), new Date(Date.now() - hours * 3_600_000));
      return path;
    };
    const orphan = (organizationId = organization.id) => `${organizationId}.${Bun.randomUUIDv7()}`;
    const removed = [leave(orphan(), 2), leave(`${crypto.randomUUID()}.part`, 2)];
    const kept = [leave(orphan(), 0.5), leave(`${crypto.randomUUID()}.part`, 0.5), leave(orphan(Bun.randomUUIDv7()), 2), leave("not-ours", 2)];
    utimesSync(join(objects, `${organization.id}.${id}`), new Date(), new Date(0));
    await sweepObjects(world.deps)();
    expect([...removed, ...kept, join(objects, `${organization.id}.${id}`)].map(existsSync)).toEqual([false, false, true, true, true, true, true]);
  });
});
