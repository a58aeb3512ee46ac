import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { actionsOf, saveChunks, withDocument, withJobs } from "../../../support/server/knowledge";
import { newOrganization } from "../../../support/server/people";
import { WORKER_KEY } from "../../../support/server/world";

withJobs();

const chunk = (chunkIndex: unknown, text: unknown = "Some text.") => ({ chunkIndex, text });
const anOrganization = { id: Bun.randomUUIDv7() };
const aDocument = Bun.randomUUIDv7();

describe("POST /internal/knowledge/documents/{id}/chunks", () => {
  test.each([
    ["no key", ""],
    ["another key", "x".repeat(44)],
    ["a longer key", `${WORKER_KEY}x`],
  ])("401 with %s, and nobody reads the body", async (_, key) => {
    expect(await saveChunks("not-a-uuid", { nonsense: true }, key)).toMatchObject({ status: 401, body: "" });
  });

  const many = Array.from({ length: 1_001 }, (_, index) => chunk(index));
  test.each([
    [{}, "body.organizationId is required."],
    [{ organizationId: 5, chunks: [chunk(0)] }, "body.organizationId must be text of 1 to 200 characters, without NUL."],
    [{ organizationId: anOrganization.id }, "body.chunks is required."],
    [{ organizationId: anOrganization.id, chunks: [] }, "body.chunks must be a list of 1 to 1000 items."],
    [{ organizationId: anOrganization.id, chunks: many }, "body.chunks must be a list of 1 to 1000 items."],
    [{ organizationId: anOrganization.id, chunks: {} }, "body.chunks must be a list of 1 to 1000 items."],
    [{ organizationId: anOrganization.id, chunks: [chunk(-1)] }, "body.chunks.0.chunkIndex must be a whole number from 0 to 2147483647."],
    [{ organizationId: anOrganization.id, chunks: [chunk(2 ** 31)] }, "body.chunks.0.chunkIndex must be a whole number from 0 to 2147483647."],
    [{ organizationId: anOrganization.id, chunks: [chunk("0")] }, "body.chunks.0.chunkIndex must be a whole number from 0 to 2147483647."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0.5)] }, "body.chunks.0.chunkIndex must be a whole number from 0 to 2147483647."],
    [{ organizationId: anOrganization.id, chunks: [{ text: "a" }] }, "body.chunks.0.chunkIndex is required."],
    [{ organizationId: anOrganization.id, chunks: [{ chunkIndex: 0 }] }, "body.chunks.0.text is required."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0, "")] }, "body.chunks.0.text must be text of 1 to 32000 characters, without NUL."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0, " \n")] }, "body.chunks.0.text must be text of 1 to 32000 characters, without NUL."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0, "a\0b")] }, "body.chunks.0.text must be text of 1 to 32000 characters, without NUL."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0, "a\uD800b")] }, "body.chunks.0.text must be text of 1 to 32000 characters, without NUL."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0, "x".repeat(32_001))] }, "body.chunks.0.text must be text of 1 to 32000 characters, without NUL."],
    [{ organizationId: anOrganization.id, chunks: [{ ...chunk(0), embedding: [] }] }, "body.chunks.0.embedding is not a known field."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0)], replace: true }, "body.replace is not a known field."],
    [{ organizationId: anOrganization.id, chunks: [chunk(0), chunk(7), chunk(7)] }, "body.chunks.2.chunkIndex is there more than once."],
  ])("400 for %#", async (body, message) => {
    expect(await saveChunks(aDocument, body)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for an id that is no UUID, 415 for what is not JSON, 413 for more than 8 MiB", async () => {
    const body = { organizationId: anOrganization.id, chunks: [chunk(0)] };
    expect(await saveChunks("x", body)).toMatchObject({ status: 400, body: { message: "params.id must be a UUID." } });
    const path = `/internal/knowledge/documents/${aDocument}/chunks`;
    expect((await call("POST", path, { raw: "a=b", token: WORKER_KEY })).status).toBe(415);
    const large = { ...body, chunks: Array.from({ length: 280 }, (_, index) => chunk(index, "x".repeat(32_000))) };
    expect((await saveChunks(aDocument, large)).status).toBe(413);
  });

  test("404 for an unknown document, and for one of another organization", async () => {
    const { id } = await withDocument();
    const other = await newOrganization();
    for (const [document, organizationId] of [
      [Bun.randomUUIDv7(), other.id],
      [id, other.id],
      [id, "another organization"],
      [id, Bun.randomUUIDv7()],
    ] as const)
      expect(await saveChunks(document, { organizationId, chunks: [chunk(0)] })).toMatchObject({
        status: 404,
        body: { message: "There is no such document in this organization." },
      });
    expect((await actionsOf(other)).map((each) => each.action)).toEqual(["organization.created"]);
  });

  test("200 writes over chunks of the same index and keeps text to the letter", async () => {
    const { staff, organization, id, path } = await withDocument();
    const text = "  Zwei\u00a0Wörter,\n\t😀 'quoted' \\ \"too\" <b>&amp;</b> ";
    expect(await saveChunks(id, { organizationId: organization.id, chunks: [chunk(0, "first"), chunk(2_147_483_647, text)] })).toMatchObject({
      status: 200,
      body: {},
    });
    const { items } = (await staff.call("GET", `${path}/chunks`)).body;
    expect(items).toMatchObject([chunk(0, "first"), chunk(2_147_483_647, text)]);
    expect((await staff.call("GET", path)).body).toMatchObject({ chunkCount: 2, status: "ready" });
  });

  test("200 again changes nothing, and leaves no trace", async () => {
    const { staff, organization, id, path } = await withDocument();
    const batch = { organizationId: organization.id.toUpperCase(), chunks: Array.from({ length: 1_000 }, (_, index) => chunk(index, `Passage ${index}.`)) };
    expect((await saveChunks(id, batch)).status).toBe(200);
    const [document, events] = [(await staff.call("GET", path)).body, await actionsOf(organization)];
    expect(document.chunkCount).toBe(1_000);
    expect(events[0]).toMatchObject({ action: "document.chunks-saved", targetId: id, actor: { type: "worker" }, details: { chunks: 1_000 } });
    expect((await saveChunks(id, batch)).status).toBe(200);
    expect((await staff.call("GET", path)).body).toEqual(document);
    expect(await actionsOf(organization)).toEqual(events);
  });

  test("200 for thirty at once that overlap, each chunk there once", async () => {
    const { staff, organization, id, path } = await withDocument();
    const batches = Array.from({ length: 30 }, (_, offset) =>
      Array.from({ length: 20 }, (_, index) => chunk((offset * 7 + index) % 50, `Passage ${(offset * 7 + index) % 50}.`)),
    );
    const answers = await Promise.all(batches.map((chunks) => saveChunks(id, { organizationId: organization.id, chunks })));
    expect(new Set(answers.map((each) => each.status))).toEqual(new Set([200]));
    const { body } = await staff.call("GET", `${path}/chunks?limit=100`);
    expect(body.items.map((each: { chunkIndex: number }) => each.chunkIndex)).toEqual(Array.from({ length: 50 }, (_, index) => index));
    expect((await staff.call("GET", path)).body.chunkCount).toBe(50);
  });
});
