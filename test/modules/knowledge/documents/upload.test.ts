import { describe, expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { call } from "../../../support/server/call";
import { actionsOf, DOCUMENTS, form, newStaff, settled, upload, withJobs } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";

withJobs();

const MIB = 1024 * 1024;
const file = (content: string | Uint8Array<ArrayBuffer> = "# Keys", name = "keys.md") => new File([content], name);
const ACCEPTED = "It must be plain text (.txt), Markdown (.md) or HTML (.html), in UTF-8.";
const objects = join(world.directory, "objects");

/** One part of a form by hand, for what no browser sends. */
const part = (head: string, value: string) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const byHand = (...parts: string[]) => ({ raw: `${parts.join("")}--XX--\r\n`, headers: { "content-type": "multipart/form-data; boundary=XX" } });

describe("POST /admin/knowledge-base/documents", () => {
  test("401 for a stranger, 403 for a user who is no staff, whatever they send", async () => {
    const user = await newUser();
    expect(await call("POST", DOCUMENTS, { raw: "x" })).toMatchObject({ status: 401, body: "" });
    expect((await user.call("POST", DOCUMENTS, { raw: "x", headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test("415 for JSON, 400 for a form that is none", async () => {
    const staff = await newStaff();
    expect((await staff.call("POST", DOCUMENTS, { body: { title: "x" } })).status).toBe(415);
    const headers = { "content-type": "multipart/form-data; boundary=XX" };
    for (const raw of ["nonsense", "--XX\r\n", part('name="title"', "cut off")])
      expect(await staff.call("POST", DOCUMENTS, { raw, headers })).toMatchObject({ status: 400, body: { message: "The body is not a well-formed form." } });
    expect((await staff.call("POST", DOCUMENTS, { raw: "x", headers: { "content-type": "multipart/form-data;" } })).status).toBe(400);
  });

  test.each([
    [{}, "body.file is required."],
    [{ file: "text" }, "body.file must be a file: plain text, Markdown or HTML in UTF-8, at most 50 MiB."],
    [{ file: file(), title: "" }, "body.title must be text of 1 to 200 characters, without NUL."],
    [{ file: file(), title: "x".repeat(201) }, "body.title must be text of 1 to 200 characters, without NUL."],
    [{ file: file(), title: "a\0b" }, "body.title must be text of 1 to 200 characters, without NUL."],
    [{ file: file(), title: file() }, "body.title must be text of 1 to 200 characters, without NUL."],
    [{ file: file(), organizationId: "x" }, "body.organizationId must be a UUID."],
    [{ file: file(), tags: "x" }, "body.tags is not a known field."],
    [{ file: file(), toString: "x" }, "body.toString is not a known field."],
    [{ file: file("%PDF-1.7 …", "a.pdf") }, `body.file is called "a.pdf". ${ACCEPTED}`],
    [{ file: file("%PDF-1.7 …", "a.md") }, `body.file is a PDF. ${ACCEPTED}`],
    [{ file: file("text", "a.docx") }, `body.file is called "a.docx". ${ACCEPTED}`],
    [{ file: file("text", "md") }, `body.file is called "md". ${ACCEPTED}`],
    [{ file: file("a\0b") }, `body.file is not text in UTF-8. ${ACCEPTED}`],
    [{ file: file(new Uint8Array([0xff, 0xfe, 0x41, 0])) }, `body.file is not text in UTF-8. ${ACCEPTED}`],
    [{ file: file(new Uint8Array([0x50, 0x4b, 3, 4, 0x80])) }, `body.file is not text in UTF-8. ${ACCEPTED}`],
    [{ file: file("") }, "body.file is empty."],
    [{ file: file("\uFEFF \n") }, "body.file is empty."],
  ])("400 for %#", async (fields, message) => {
    const staff = await newStaff();
    const wish = await form({ ...("file" in fields && { title: "Keys", organizationId: Bun.randomUUIDv7() }), ...(fields as Record<string, string>) });
    expect(await staff.call("POST", DOCUMENTS, wish)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for a field that comes twice or a file without a name", async () => {
    const staff = await newStaff();
    const organizationId = part('name="organizationId"', Bun.randomUUIDv7());
    const [title, text] = [part('name="title"', "Keys"), part('name="file"; filename="a.md"', "# Keys")];
    const twice = await staff.call("POST", DOCUMENTS, byHand(text, title, title, organizationId));
    expect(twice).toMatchObject({ status: 400, body: { message: "body.title is there more than once." } });
    const nameless = await staff.call("POST", DOCUMENTS, byHand(part('name="file"; filename=""', "# Keys"), title, organizationId));
    expect(nameless).toMatchObject({ status: 400, body: { message: `body.file is called "". ${ACCEPTED}` } });
  });

  test("404 for an organization that is none", async () => {
    const staff = await newStaff();
    const wish = await form({ file: file(), title: "Keys", organizationId: Bun.randomUUIDv7() });
    expect(await staff.call("POST", DOCUMENTS, wish)).toMatchObject({ status: 404, body: { message: "There is no such organization." } });
  });

  test("413 for a file of 50 MiB and a byte, however it comes, and 201 for one of 50 MiB", async () => {
    const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
    await upload(staff, organization.id);
    const before = readdirSync(objects).length;
    const send = async (size: number) => {
      const content = new Uint8Array(size).fill(32);
      content[0] = 65;
      return form({ file: file(content, "a.txt"), title: "Large", organizationId: organization.id });
    };
    const tooLarge = await send(50 * MIB + 1);
    expect(await staff.call("POST", DOCUMENTS, tooLarge)).toMatchObject({ status: 413, body: { message: "The file is larger than 50 MiB." } });
    const streamed = { ...tooLarge, raw: new Blob([tooLarge.raw as Uint8Array<ArrayBuffer>]).stream() };
    expect((await staff.call("POST", DOCUMENTS, streamed)).status).toBe(413);
    expect((await staff.call("POST", DOCUMENTS, await send(52 * MIB))).status).toBe(413);
    expect(readdirSync(objects).length).toBe(before);
    const { status, body } = await staff.call("POST", DOCUMENTS, await send(50 * MIB));
    expect([status, body.size]).toEqual([201, 50 * MIB]);
    expect(await settled(staff, body.id)).toMatchObject({ status: "ready", chunkCount: 1 });
  });

  test("201 stores the file whole, for the owner alone, and indexes it by itself", async () => {
    const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
    const text = "# Keys\r\n\r\nThey rotate.";
    const wish = await form({ file: file(text), title: "  All about keys ", organizationId: organization.id });
    const { status, body, headers } = await staff.call("POST", DOCUMENTS, wish);
    expect([status, headers.get("etag"), headers.get("location")]).toEqual([201, '"1"', `${DOCUMENTS}/${body.id}`]);
    const sha256 = new Bun.CryptoHasher("sha256").update(text).digest("hex");
    const facts = { title: "All about keys", fileName: "keys.md", mediaType: "text/markdown", size: text.length, sha256, organizationId: organization.id };
    expect(body).toMatchObject({ ...facts, status: "uploaded", chunkCount: 0, version: 1, indexedAt: null, failure: null });
    expect([
      await Bun.file(join(objects, `${organization.id}.${body.id}`)).text(),
      statSync(join(objects, `${organization.id}.${body.id}`)).mode & 0o777,
    ]).toEqual([text, 0o600]);
    const ready = await settled(staff, body.id);
    expect(ready).toMatchObject({ ...facts, status: "ready", chunkCount: 1, indexedAt: expect.any(String) });
    const { items } = (await staff.call("GET", `${DOCUMENTS}/${body.id}/chunks`)).body;
    expect(items).toMatchObject([{ chunkIndex: 0, text: "# Keys\n\nThey rotate." }]);
    const events = (await actionsOf(organization)).filter((each) => each.targetId === body.id);
    expect(events.map((each) => [each.action, each.actor.type])).toEqual([
      ["document.indexed", "worker"],
      ["document.chunks-saved", "worker"],
      ["document.uploaded", "user"],
    ]);
    expect(events[2]).toMatchObject({ actor: { id: staff.id }, details: { title: "All about keys", fileName: "keys.md", sha256 } });
  });

  test.each([
    ["notes.TXT", "plain", "text/plain", "notes.TXT"],
    ["page.html", "<p>hello", "text/html", "page.html"],
    ["page.md", "\uFEFF<!-- a note -->\n<!DOCTYPE html><p>hello", "text/html", "page.md"],
    ["../../etc/passwd.md", "hello", "text/markdown", "passwd.md"],
    ["C:\\temp\\keys.markdown", "hello", "text/markdown", "keys.markdown"],
    ["Zusammenfassung 😀 – \u202Ekeys.md", "hello", "text/markdown", "Zusammenfassung 😀 – keys.md"],
    [`${"x".repeat(300)}.md`, "hello", "text/markdown", `${"x".repeat(197)}.md`],
  ])("201 for %j", async (name, text, mediaType, fileName) => {
    const [staff, organization] = await Promise.all([newStaff(), newOrganization()]);
    expect(await upload(staff, organization.id, { text, fileName: name })).toMatchObject({ mediaType, fileName });
  });
});
