import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createKeyring } from "#crypto/keyring";
import { call } from "../../../support/server/call";
import { DOCUMENTS, newStaff, withDocument, withJobs } from "../../../support/server/knowledge";
import { newUser } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

withJobs();

const INVALID = { status: 403, body: { message: "This link is not valid." } };
const TEXT = "# Keys\n\nKeys rotate yearly.";

async function withLink() {
  const document = await withDocument({ text: TEXT, fileName: "Schlüssel 'α' (1).md" });
  const { body } = await document.staff.call("GET", `${document.path}/download`);
  const read = (change?: (url: URL) => void) => {
    const url = new URL(body.url);
    change?.(url);
    return call("GET", url.pathname + url.search);
  };
  return { ...document, url: new URL(body.url), expiresAt: body.expiresAt as string, read };
}

describe("GET /admin/knowledge-base/documents/{documentId}/download", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    const path = `${DOCUMENTS}/${Bun.randomUUIDv7()}/download`;
    expect(await call("GET", path)).toMatchObject({ status: 401, body: "" });
    expect((await user.call("GET", path, { headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test("404 for what is no document", async () => {
    const staff = await newStaff();
    for (const id of ["x", Bun.randomUUIDv7()]) expect((await staff.call("GET", `${DOCUMENTS}/${id}/download`)).status).toBe(404);
  });

  test("200 a link to exactly that file, for five minutes, on the address that was asked", async () => {
    const asked = Date.now();
    const { organization, id, url, expiresAt } = await withLink();
    const madeAt = Date.parse(expiresAt) - 300_000;
    expect(madeAt).toBeWithin(Math.floor(asked / 1_000) * 1_000, Date.now() + 1);
    expect([url.origin, url.pathname]).toEqual([world.url, `/files/${organization.id}.${id}`]);
    expect(Number(url.searchParams.get("expires")) * 1000).toBe(Date.parse(expiresAt));
  });

  test("200 a link on PUBLIC_URL where there is one", async () => {
    const { staff, path } = await withDocument();
    const config = { ...world.config, publicUrl: "https://certitude.example/app" };
    const { url, server } = startServer(config, world.database);
    const { body } = await call("GET", `${path}/download`, { url, token: staff.token, headers: { "x-user-id": staff.id } });
    expect(body.url).toStartWith("https://certitude.example/app/files/");
    await server.stop(true);
  });
});

describe("GET /files/{key}", () => {
  test.each<[string, (url: URL) => void]>([
    [
      "another object",
      (url) => {
        url.pathname = `/files/${Bun.randomUUIDv7()}`;
      },
    ],
    [
      "an object above the store",
      (url) => {
        url.pathname = "/files/..%2Fsecrets.json";
      },
    ],
    ["another expiry", (url) => url.searchParams.set("expires", String(Number(url.searchParams.get("expires")) + 60))],
    ["the same expiry, written otherwise", (url) => url.searchParams.set("expires", `0${url.searchParams.get("expires")}`)],
    ["no expiry", (url) => url.searchParams.delete("expires")],
    ["an empty expiry", (url) => url.searchParams.set("expires", "")],
    ["two expiries", (url) => url.searchParams.append("expires", url.searchParams.get("expires") ?? "")],
    ["another key's id", (url) => url.searchParams.set("keyId", "0000000000000000")],
    ["no key's id", (url) => url.searchParams.delete("keyId")],
    ["another name", (url) => url.searchParams.set("name", "evil.html")],
    ["another kind", (url) => url.searchParams.set("type", "text/html")],
    ["no signature", (url) => url.searchParams.delete("signature")],
    ["an empty signature", (url) => url.searchParams.set("signature", "")],
    ["two signatures", (url) => url.searchParams.append("signature", url.searchParams.get("signature") ?? "")],
    ["a short signature", (url) => url.searchParams.set("signature", (url.searchParams.get("signature") ?? "").slice(0, -1))],
    ["a padded signature", (url) => url.searchParams.set("signature", `${url.searchParams.get("signature")}=`)],
    ["another signature", (url) => url.searchParams.set("signature", createHmac("sha256", "guess").update("x").digest("base64url"))],
    ["a parameter more", (url) => url.searchParams.set("debug", "1")],
    [
      "other letters",
      (url) => {
        url.search = url.search.replace("signature=", "Signature=");
      },
    ],
    [
      "no parameters",
      (url) => {
        url.search = "";
      },
    ],
  ])("403 for %s", async (_, change) => {
    const { read } = await withLink();
    expect(await read(change)).toMatchObject(INVALID);
  });

  test("403 for a link of another document, put onto this one", async () => {
    const [one, other] = await Promise.all([withLink(), withLink()]);
    expect(
      await one.read((url) => {
        url.pathname = other.url.pathname;
      }),
    ).toMatchObject(INVALID);
  });

  test("403 for a link that another SECRETS_KEY signed", async () => {
    const { url } = await withLink();
    const other = startServer({ ...world.config, keyring: createKeyring([Buffer.alloc(32, 8)]) }, world.database);
    expect(await call("GET", url.pathname + url.search, { url: other.url })).toMatchObject(INVALID);
    await other.server.stop(true);
  });

  test("403 once it has expired, to the second", async () => {
    const { url, expiresAt } = await withLink();
    for (const [offset, status] of [
      [-1, 200],
      [0, 403],
      [1, 403],
    ] as const) {
      const later = startServer(world.config, world.database, () => new Date(Date.parse(expiresAt) + offset));
      const answer = await call("GET", url.pathname + url.search, { url: later.url });
      expect(answer.status).toBe(status);
      if (status === 403) expect(answer.body.message).toBe("This link has expired. Ask for a new one.");
      await later.server.stop(true);
    }
  });

  test("404 when the file is gone, 405 for another method", async () => {
    const { organization, url, id, read } = await withLink();
    expect((await call("POST", url.pathname + url.search, { body: {} })).status).toBe(405);
    rmSync(join(world.directory, "objects", `${organization.id}.${id}`));
    expect(await read()).toMatchObject({ status: 404, body: { message: "What this link led to is gone." } });
  });

  test("200 the file, to be saved and never shown", async () => {
    const { read } = await withLink();
    const { status, text, headers } = await read();
    expect([status, text]).toEqual([200, TEXT]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "text/markdown; charset=utf-8",
      "content-length": String(TEXT.length),
      "content-disposition": `attachment; filename="Schl_ssel ___ (1).md"; filename*=UTF-8''Schl%C3%BCssel%20%27%CE%B1%27%20%281%29.md`,
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    });
  });
});
