import { describe, expect, spyOn, test } from "bun:test";
import zlib from "node:zlib";
import { CODINGS, compressSync } from "#http/compression";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { certificate, importInto } from "../support/pki/certificates";
import { newOrganization, newUser } from "../support/server/people";
import { readTag } from "../support/server/tags";
import { startServer, world } from "../support/server/world";

const decode: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdDecompressSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  gzip: (bytes) => Bun.gunzipSync(bytes),
};

const read = (bytes: Uint8Array<ArrayBuffer>, coding: string | null) =>
  Buffer.from((bytes.length > 0 && coding && decode[coding]?.(bytes)) || bytes).toString();

/** What travels, as it is: fetch does not decompress it. */
async function ask(path: string, accepted: string | undefined, headers: Record<string, string> = {}, { method = "GET", url = world.url } = {}) {
  const answer = await fetch(`${url}${path}`, { method, decompress: false, headers: { "accept-encoding": accepted ?? "", ...headers } });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const coding = answer.headers.get("content-encoding");
  return { status: answer.status, headers: answer.headers, coding, size: bytes.length, text: read(bytes, coding) };
}

/** A list of some 40 KB. */
async function newList() {
  const organization = await newOrganization();
  await importInto(organization, ...Array.from({ length: 30 }, () => certificate().pem));
  return { path: `/organizations/${organization.id}/certificates?limit=100`, headers: organization.headers("ORG_MEMBER"), organization };
}

describe("a large answer", () => {
  test.each<[string | undefined, string | null]>([
    [undefined, null],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP", "gzip"],
    ["br", "br"],
    ["zstd", "zstd"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, deflate, br", "br"],
    ["gzip;q=1.0, br;q=0.5, zstd;q=0.1", "gzip"],
    ["gzip ; q=0.5 , br ; q=0.8", "br"],
    ["gzip;q=0", null],
    ["gzip;q=0.000, identity", null],
    ["deflate", null],
    ["identity", null],
    ["identity;q=1, gzip;q=0.5", null],
    ["identity;q=0.5, gzip;q=1", "gzip"],
    ["*", "zstd"],
    ["*;q=0", null],
    ["*;q=0, gzip", "gzip"],
    ["zstd;q=0, *", "br"],
    ["gzip;q=2, br;q=x", null],
    ["gzip;q=", null],
    [",, ;q=1, gzip", "gzip"],
    ["x".repeat(5_000), null],
  ])("asked for with accept-encoding %j has the coding %j", async (accepted, coding) => {
    const { path, headers } = await newList();
    const plain = await ask(path, undefined, headers);
    const answer = await ask(path, accepted, headers);
    expect([answer.status, answer.coding, answer.text]).toEqual([200, coding, plain.text]);
    expect(answer.headers.get("vary")).toBe("Accept-Encoding");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("x-request-id")).toBeString();
    if (coding) expect(answer.size).toBeLessThan(plain.size / 3);
  });

  test("to HEAD has no body, and the headers of what is not compressed; of what never changes, those of GET", async () => {
    const { path, headers } = await newList();
    const [head, plain] = [await ask(path, "gzip", headers, { method: "HEAD" }), await ask(path, "identity", headers)];
    expect([head.status, head.coding, head.size, head.headers.get("vary")]).toEqual([200, null, 0, "Accept-Encoding"]);
    expect(head.headers.get("content-length")).toBe(`${plain.size}`);
    const [fixed, get] = [await ask("/swagger/json", "gzip", {}, { method: "HEAD" }), await ask("/swagger/json", "gzip")];
    const described = (each: typeof get) => ["content-encoding", "content-length", "etag", "vary"].map((name) => each.headers.get(name));
    expect(described(fixed)).toEqual(described(get));
    expect(fixed.coding).toBe("gzip");
  });

  test("is compressed beside a CORS header, and varies by both", async () => {
    const open = startServer({ ...world.config, corsOrigins: ["https://portal.example"] }, world.database);
    const { path, headers, organization } = await newList();
    const { token } = await organization.join();
    for (const each of [path, `/organizations/${organization.id}/certs/trust-store-catalog`]) {
      const answer = await ask(each, "gzip", { ...headers, authorization: `Bearer ${token}`, origin: "https://portal.example" }, { url: open.url });
      expect([answer.coding, answer.headers.get("access-control-allow-origin")]).toEqual(["gzip", "https://portal.example"]);
      expect(answer.headers.get("vary")?.split(", ").toSorted()).toEqual(["Accept-Encoding", "Origin"]);
    }
    await open.server.stop(true);
  });

  test("of 8 MB is compressed beside the event loop, so that other requests are answered", async () => {
    const { organization, path, headers } = await newList();
    await world.sql`update certificates set facts = facts || jsonb_build_object('padding', (select string_agg(md5(g::text), '') from generate_series(1, 8000) g)) where organization_id = ${organization.id}`;
    const inTheLoop = CODINGS.map((coding) => spyOn(compressSync, coding));
    const answers = await Promise.all(CODINGS.map((coding) => ask(path, coding, headers)));
    expect(answers.map((each) => each.coding)).toEqual([...CODINGS]);
    for (const { text } of answers) expect(text.length).toBeGreaterThan(7_500_000);
    for (const each of inTheLoop) expect(each).not.toHaveBeenCalled();
    await ask("/health/live", "gzip, identity;q=0");
    expect(inTheLoop.map((each) => each.mock.calls.length)).toEqual([0, 0, 1]); // what is small costs less there
    for (const each of inTheLoop) each.mockRestore();
  }, 60_000);
});

describe("an answer that is not compressed", () => {
  const all = "gzip, br, zstd";

  test("a small one, unless the caller refuses it as it is", async () => {
    expect((await ask("/health/live", all)).coding).toBeNull();
    const insists = await ask("/health/live", "gzip, identity;q=0");
    expect([insists.coding, insists.text]).toEqual(["gzip", '{"status":"ok"}']);
    expect((await ask("/health/live", "*;q=0, br;q=0.1")).coding).toBe("br");
    expect((await ask("/health/live", "identity;q=0")).text).toBe('{"status":"ok"}');
  });

  test("one with a version's ETag, which If-Match names", async () => {
    const organization = await newOrganization();
    const [id] = await importInto(organization, certificate({ dns: Array.from({ length: 50 }, (_, index) => `host-${index}.example`) }).pem);
    const answer = await ask(`/organizations/${organization.id}/certificates/${id}`, all, organization.headers("ORG_MEMBER"));
    expect([answer.coding, answer.headers.get("etag"), answer.text.length > 2_048]).toEqual([null, readTag(1), true]);
  });

  test("what a write answers, which may hold a secret, and refusals", async () => {
    const organization = await newOrganization();
    const pem = Array.from({ length: 10 }, () => certificate().pem).join("\n");
    const written = await fetch(`${world.url}/organizations/${organization.id}/certificates`, {
      method: "POST",
      decompress: false,
      headers: { ...organization.headers("ORG_ADMIN"), "content-type": "application/json", "accept-encoding": all },
      body: JSON.stringify({ pem }),
    });
    expect([written.status, written.headers.get("content-encoding")]).toEqual([201, null]);
    expect((await written.text()).length).toBeGreaterThan(2_048);
    expect((await ask("/nothing", "gzip, identity;q=0")).coding).toBeNull();
  });
});

describe("a body that never changes", () => {
  async function newStaff() {
    const user = await newUser();
    await user.call("GET", "/users/me");
    await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
    return { "x-user-id": user.id, authorization: `Bearer ${user.token}` };
  }
  async function newMember() {
    const organization = await newOrganization();
    return { ...organization.headers("ORG_MEMBER"), id: organization.id };
  }
  const fixed: [string, () => Promise<Record<string, string>>, string][] = [
    ["/swagger/json", async () => ({}), "no-cache"],
    ["/swagger/script.js", async () => ({}), "public, max-age=31536000, immutable"],
    ["/swagger/style.css", async () => ({}), "public, max-age=31536000, immutable"],
    ["/organizations/:id/certs/trust-store-catalog", newMember, "private, max-age=3600"],
    ["/admin/ai-governance/catalog", newStaff, "private, no-cache"],
    ["/admin/ai-governance/catalog?framework=iso", newStaff, "private, no-cache"],
  ];

  test.each(fixed)("%s has a strong tag for each coding, and any of them is 304", async (route, newCaller, caching) => {
    const { id = "", ...headers } = await newCaller();
    const path = route.replace(":id", id);
    const answers = await Promise.all(["identity", "gzip", "br", "zstd"].map((coding) => ask(path, coding, headers)));
    expect(answers.map((each) => each.coding)).toEqual([null, "gzip", "br", "zstd"]);
    expect(new Set(answers.map((each) => each.text)).size).toBe(1);
    const tags = answers.map((each) => each.headers.get("etag") ?? "");
    expect(new Set(tags).size).toBe(4);
    for (const tag of tags) {
      expect(tag).toMatch(/^"[0-9a-f]{32}(-\w+)?"$/);
      for (const accepted of ["identity", "zstd"]) {
        const again = await ask(path, accepted, { ...headers, "if-none-match": `"other", W/${tag}` });
        expect([again.status, again.coding, again.text, again.headers.get("etag")]).toEqual([304, null, "", tag]);
        expect([again.headers.get("vary"), again.headers.get("cache-control")]).toEqual(["Accept-Encoding", caching]);
      }
    }
    for (const answer of answers) expect([answer.headers.get("vary"), answer.headers.get("cache-control")]).toEqual(["Accept-Encoding", caching]);
    expect((await ask(path, "br", { ...headers, "if-none-match": "*" })).headers.get("etag")).toBe(tags[2] ?? "");
    expect((await ask(path, "gzip", { ...headers, "if-none-match": '"other"' })).status).toBe(200);
  });
});
