import { describe, expect, test } from "bun:test";
import { saveChunks, withDocument, withJobs } from "../../../support/server/knowledge";
import { newOrganization } from "../../../support/server/people";

withJobs();

type Passage = { documentId: string; chunkIndex: number; text: string; highlight: string; rank: number };
const indexesOf = (items: Passage[]) => items.map((each) => each.chunkIndex);

/** A document whose chunks are just these. */
async function withChunks(...texts: string[]) {
  const document = await withDocument();
  await saveChunks(document.id, { organizationId: document.organization.id, chunks: texts.map((text, chunkIndex) => ({ chunkIndex, text })) });
  return document;
}

describe("GET /organizations/{organizationId}/knowledge/search", () => {
  test.each([
    ["", "query.q is required."],
    ["?q=", "query.q must be text of 1 to 200 characters, without NUL."],
    ["?q=%20", "query.q must be text of 1 to 200 characters, without NUL."],
    ["?q=a%00b", "query.q must be text of 1 to 200 characters, without NUL."],
    [`?q=${"x".repeat(201)}`, "query.q must be text of 1 to 200 characters, without NUL."],
    ["?q=keys&limit=101", "query.limit must be a whole number from 1 to 100."],
    ["?q=keys&cursor=zzz", "query.cursor must be the nextCursor of an earlier answer."],
  ])("400 for %j", async (query, message) => {
    const organization = await newOrganization();
    expect(await organization.member("GET", `/knowledge/search${query}`)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 or an empty page for a cursor that was made up", async () => {
    const organization = await newOrganization();
    const id = Bun.randomUUIDv7();
    for (const key of [
      ["x", id, "1"],
      ["1e999", id, "1"],
      ["-1", "x", "1"],
      ["-1", id, "-1"],
      [-1, id, 1],
    ]) {
      const cursor = Buffer.from(JSON.stringify(key)).toString("base64url");
      expect((await organization.member("GET", `/knowledge/search?q=keys&cursor=${cursor}`)).status).toBe(400);
    }
    for (const key of [
      ["-1e-99", id, "9999999999"],
      ["999999999", id, "0"],
    ]) {
      const cursor = Buffer.from(JSON.stringify(key)).toString("base64url");
      expect((await organization.member("GET", `/knowledge/search?q=keys&cursor=${cursor}`)).body).toEqual({ items: [], nextCursor: null });
    }
  });

  test("200 whole words in any form, all of them, phrases, choices and exclusions", async () => {
    const { search } = await withChunks("Private keys rotate yearly.", "A key signs; certificates expire.", "The rotation of certificates.", "Nothing here.");
    expect(indexesOf(await search("key")).toSorted()).toEqual([0, 1]);
    expect(indexesOf(await search("rotating KEYS"))).toEqual([0]);
    expect(indexesOf(await search('"key signs"'))).toEqual([1]);
    expect(await search('"signs key"')).toEqual([]);
    expect(indexesOf(await search("nothing OR signs")).toSorted()).toEqual([1, 3]);
    expect(indexesOf(await search("certificate -rotation"))).toEqual([1]);
    expect(await search("the of and")).toEqual([]);
    expect(await search("!!! & | <-> :* ' \\ (")).toEqual([]);
  });

  test("200 the best first, page by page, each once", async () => {
    const { organization, id } = await withChunks(
      ...Array.from({ length: 30 }, (_, index) => `${"zebra ".repeat((index * 7) % 10)} and ${"other words ".repeat(20)} zebra`),
    );
    const found: Passage[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await organization.member("GET", `/knowledge/search?q=zebra&limit=7${cursor}`);
      found.push(...body.items);
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(indexesOf(found).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index));
    const ranks = found.map((each) => each.rank);
    expect(ranks).toEqual(ranks.toSorted((a, b) => b - a));
    expect(new Set(ranks).size).toBe(10);
    expect(found[0]).toMatchObject({ documentId: id, title: "Keys", rank: expect.any(Number) });
  });

  test("200 finds nothing of another organization, even when a text names it", async () => {
    const one = await withChunks("The zebra of one.");
    const other = await withChunks(`The zebra of the other, which writes ${one.organization.id} into its text.`);
    expect((await one.search("zebra")).map((each: Passage) => each.documentId)).toEqual([one.id]);
    expect(await one.search(other.organization.id)).toEqual([]);
    expect(await one.search("writes")).toEqual([]);
    expect(await other.search(`zebra ${one.organization.id}`)).toHaveLength(1);
  });

  test("200 highlights in <mark>, and whatever the text holds is escaped", async () => {
    const { search } = await withChunks(
      `<img src=x onerror="alert('1')"> & the zebra </mark><script>alert(2)</script> \uE000b\uE001 &lt;`,
      `A <zebra onclick=alert(3)> stands here`,
    );
    const found: Passage[] = await search("zebra");
    const [first] = found.filter((each) => each.chunkIndex === 0);
    expect(first?.highlight).toContain("<mark>zebra</mark>");
    for (const { highlight } of found) expect(highlight.replaceAll("<mark>", "").replaceAll("</mark>", "")).not.toMatch(/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/);
    for (const { highlight } of found) expect(highlight.split("<mark>").length).toBe(highlight.split("</mark>").length);
    expect(first?.text).toContain(`<img src=x onerror="alert('1')">`);
  });

  test("200 for thirty at once", async () => {
    const { organization } = await withChunks("The zebra.", "No zebra.", "Another animal.");
    const answers = await Promise.all(Array.from({ length: 30 }, () => organization.member("GET", "/knowledge/search?q=zebra")));
    for (const { status, body } of answers) expect([status, body.items.length]).toEqual([200, 2]);
  });
});
