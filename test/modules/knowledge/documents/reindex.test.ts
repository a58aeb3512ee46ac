import { afterEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { prepareJobs } from "#jobs/start";
import { call } from "../../../support/server/call";
import { actionsOf, DOCUMENTS, newStaff, saveChunks, settled, startJobs, upload, withDocument, withJobs } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";

withJobs();
afterEach(() => startJobs());

const { queue } = world.deps;
/** Some hundred passages, each with its number and one word in common. */
const book = (word: string) =>
  Array.from({ length: 350 }, (_, index) => `Chapter ${index} is about the ${word}. ${"It goes on and on. ".repeat(60)}`).join("\n\n");

/** Stands before the server as a worker sees it. */
function proxy(answer: (count: number) => Response | undefined) {
  let count = 0;
  const forward = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const body = await request.bytes();
    return answer(++count) ?? fetch(world.url + pathname, { method: request.method, headers: request.headers, body });
  };
  return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: forward });
}

const jobOf = (id: string) => world.sql`select job_id as "jobId", generation, next_generation as next, chunk_count as chunks from documents where id = ${id}`;

describe("POST /admin/knowledge-base/documents/{documentId}/reindex", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    const path = `${DOCUMENTS}/${Bun.randomUUIDv7()}/reindex`;
    expect(await call("POST", path)).toMatchObject({ status: 401, body: "" });
    expect((await user.call("POST", path, { headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test("404 for what is no document", async () => {
    const staff = await newStaff();
    for (const id of ["x", Bun.randomUUIDv7()]) expect(await staff.call("POST", `${DOCUMENTS}/${id}/reindex`)).toMatchObject({ status: 404 });
  });

  test("202 for twenty at once, all with the same job, which leaves the document as it was", async () => {
    const { staff, organization, id, path } = await withDocument();
    await queue.stop();
    await prepareJobs(world.deps);
    const answers = await Promise.all(Array.from({ length: 20 }, () => staff.call("POST", `${path}/reindex`)));
    const [first] = answers;
    for (const { status, body } of answers) expect([status, body]).toEqual([202, { jobId: first?.body.jobId, documentId: id, status: "queued" }]);
    expect((await staff.call("GET", path)).body).toMatchObject({ status: "indexing", chunkCount: 1 });
    await startJobs();
    expect(await settled(staff, id)).toMatchObject({ status: "ready", chunkCount: 1 });
    const requested = (await actionsOf(organization)).filter((each) => each.action === "document.reindex-requested");
    expect(requested).toMatchObject([{ targetId: id, actor: { type: "user", id: staff.id }, details: { jobId: first?.body.jobId } }]);
    expect((await staff.call("POST", `${path}/reindex`)).body.jobId).not.toBe(first?.body.jobId);
  });

  test("202 with the job that runs; what was found before is found all the while, and never twice", async () => {
    const { staff, id, path, search } = await withDocument({ text: book("walrus") });
    const { chunkCount } = await settled(staff, id);
    expect(chunkCount).toBeGreaterThan(300);
    const { body: job } = await staff.call("POST", `${path}/reindex`);
    const seen = new Set<number>();
    const statuses = new Set<string>();
    for (let isDone = false; !isDone; ) {
      const [found, again] = await Promise.all([search('"chapter 217"'), staff.call("POST", `${path}/reindex`)]);
      seen.add(found.length);
      isDone = again.body.jobId !== job.jobId;
      if (!isDone) statuses.add(again.body.status);
    }
    expect([...seen]).toEqual([1]);
    expect([...statuses]).toContain("running");
    expect(await settled(staff, id)).toMatchObject({ status: "ready", chunkCount });
    expect(await world.sql`select distinct generation from document_chunks where document_id = ${id}`).toHaveLength(1);
  });

  test("202, and a server that stops between two batches goes on when it starts again", async () => {
    const { staff, organization, id, path, search } = await withDocument({ text: "The old walrus." });
    await queue.stop();
    const between = proxy((count) => {
      if (count === 3) queue.stop();
      return count < 3 ? undefined : new Response("stopping", { status: 503 });
    });
    rmSync(join(world.directory, "objects", `${organization.id}.${id}`));
    await world.deps.store.put(`${organization.id}.${id}`, new TextEncoder().encode(book("otter")));
    await startJobs(between);
    await staff.call("POST", `${path}/reindex`);
    while ((await jobOf(id))[0]?.next === null || between.pendingRequests > 0) await Bun.sleep(10);
    await queue.stop();
    expect((await jobOf(id))[0]).toMatchObject({ generation: 1, next: 2, chunks: 1, jobId: expect.any(String) });
    expect([(await search("walrus")).length, (await search("otter")).length]).toEqual([1, 0]);
    await startJobs();
    expect((await settled(staff, id)).chunkCount).toBeGreaterThan(300);
    expect([(await search("walrus")).length, (await search('"chapter 349"')).length]).toEqual([0, 1]);
    expect((await actionsOf(organization)).filter((each) => each.action === "document.indexed")).toHaveLength(2);
    await between.stop(true);
  });

  test("202, and the work of a killed server is taken up", async () => {
    const { staff, id, path } = await withDocument();
    await queue.stop();
    await prepareJobs(world.deps);
    const { body: job } = await staff.call("POST", `${path}/reindex`);
    await world.sql`update documents set next_generation = generation + 1 where id = ${id}`;
    await world.sql`update pgboss.job set state = 'active', started_on = now(), heartbeat_on = now() - interval '1 minute' where id = ${job.jobId}`;
    expect((await staff.call("POST", `${path}/reindex`)).body).toMatchObject({ jobId: job.jobId, status: "running" });
    await startJobs();
    expect(await settled(staff, id)).toMatchObject({ status: "ready", chunkCount: 1 });
  });

  test("202, and after the last attempt the document says so, with what was found before", async () => {
    const { staff, organization, id, path, search } = await withDocument({ text: "The old walrus." });
    await queue.stop();
    await prepareJobs(world.deps);
    const { body: job } = await staff.call("POST", `${path}/reindex`);
    await world.sql`update pgboss.job set retry_limit = 0 where id = ${job.jobId}`;
    const broken = proxy(() => new Response("no", { status: 500 }));
    await startJobs(broken);
    expect(await settled(staff, id)).toMatchObject({ status: "failed", failure: expect.stringContaining("Indexing failed time and again."), chunkCount: 1 });
    expect(await search("walrus")).toHaveLength(1);
    expect((await actionsOf(organization))[0]).toMatchObject({ action: "document.indexing-failed", targetId: id, actor: { type: "worker" } });
    await queue.stop();
    await startJobs();
    await staff.call("POST", `${path}/reindex`);
    expect(await settled(staff, id)).toMatchObject({ status: "ready", failure: null });
    await broken.stop(true);
  });

  test.each([
    ["page.html", "<script>alert(1)</script><p hidden>x", "The document holds no text."],
    ["page.html", `${"<div>".repeat(1_001)}x`, "Its HTML is nested deeper than 1000 levels."],
  ])("202 for %j that no attempt can read: it fails at once", async (fileName, text, failure) => {
    const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
    const { id } = await upload(staff, organization.id, { fileName, text });
    expect(await settled(staff, id)).toMatchObject({ status: "failed", failure, chunkCount: 0 });
  });

  test("202 for a file that vanished: what was found before still is", async () => {
    const { staff, organization, id, path, search } = await withDocument({ text: "The old walrus." });
    rmSync(join(world.directory, "objects", `${organization.id}.${id}`));
    await staff.call("POST", `${path}/reindex`);
    expect(await settled(staff, id)).toMatchObject({ status: "failed", failure: "The file is gone from the store. Upload it again." });
    expect(await search("walrus")).toHaveLength(1);
  });

  test("202, and deleting the document ends the job", async () => {
    const { staff, id, path } = await withDocument({ text: book("walrus") });
    await staff.call("POST", `${path}/reindex`);
    expect((await staff.call("DELETE", path)).status).toBe(204);
    expect((await staff.call("POST", `${path}/reindex`)).status).toBe(404);
    expect(await world.sql`select from document_chunks where document_id = ${id}`).toHaveLength(0);
  });

  test("202 for a job that the queue has lost: a new one", async () => {
    const { staff, id, path } = await withDocument();
    const lost = Bun.randomUUIDv7();
    await world.sql`update documents set job_id = ${lost}, status = 'indexing', next_generation = generation + 1 where id = ${id}`;
    const { body } = await staff.call("POST", `${path}/reindex`);
    expect(body.jobId).not.toBe(lost);
    expect((await settled(staff, id)).status).toBe("ready");
  });

  test("chunks that come while a job runs wait for its end, and what the job did not make goes", async () => {
    const { staff, organization, id, path, search } = await withDocument({ text: "The old walrus." });
    await queue.stop();
    await prepareJobs(world.deps);
    await staff.call("POST", `${path}/reindex`);
    await world.sql`update documents set next_generation = generation + 1 where id = ${id}`;
    expect((await saveChunks(id, { organizationId: organization.id, chunks: [{ chunkIndex: 7, text: "An otter." }] })).status).toBe(200);
    expect([(await search("walrus")).length, (await search("otter")).length]).toEqual([1, 0]);
    await startJobs();
    expect(await settled(staff, id)).toMatchObject({ chunkCount: 1 });
    expect([(await search("walrus")).length, (await search("otter")).length]).toEqual([1, 0]);
  });
});
