import { beforeAll, describe, expect, test } from "bun:test";
import { nameOf, type Operation, operations } from "../support/openapi/document";
import { certificate, importInto } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { startServer, world } from "../support/server/world";

withQueue();

let everything: PopulatedOrganization;
beforeAll(async () => {
  everything = await populatedOrganization();
});

const reads = operations.filter(({ method, id }) => method === "GET" && id !== "streamNotifications");
const ask = (operation: Operation, headers: Record<string, string> = {}, method = "GET") => {
  const query = operation.parameters.filter((each) => each.in === "query" && each.required).map(({ name }) => `${name}=${everything.ids[name] ?? "x"}`);
  const path = everything.pathOf(operation) + (query.length > 0 ? `?${query.join("&")}` : "");
  return call(method, path, { headers: { ...everything.credentials(operation), ...headers } });
};

describe.each(reads.map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("has an ETag just where its document says 304", async () => {
    const { status, headers } = await ask(operation);
    expect({ status, isTagged: headers.has("etag") && status === 200 }).toEqual({ status, isTagged: operation.statuses.includes("304") && status === 200 });
  });
});

const tagged = reads.filter(({ statuses }) => statuses.includes("304"));

describe.each(tagged.map((operation) => [nameOf(operation), operation] as const))("%s with If-None-Match", (_, operation) => {
  test("304 without a body for its tag, weak or among others, and for *; 200 for another", async () => {
    const read = await ask(operation);
    const tag = read.headers.get("etag") ?? "";
    expect([read.status, tag]).toEqual([200, expect.stringMatching(/^"[\w-]+"$/)]);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, `"other",W/${tag}`, "*"]) {
      const again = await ask(operation, { "if-none-match": known });
      expect({ known, status: again.status, text: again.text, tag: again.headers.get("etag") }).toEqual({
        known,
        status: 304,
        text: "",
        tag,
      });
    }
    for (const other of ['"other"', tag.replaceAll('"', ""), "", `"${tag.length}"`]) {
      const again = await ask(operation, { "if-none-match": other });
      expect({ other, status: again.status, text: again.text, tag: again.headers.get("etag") }).toEqual({ other, status: 200, text: read.text, tag });
    }
  });
});

describe("the tag of a read", () => {
  test("moves on when what is shown changes without a new version: a certificate that expires is no longer 304", async () => {
    const organization = await newOrganization();
    const [id] = await importInto(organization, certificate().pem);
    const before = await organization.member("GET", `/certificates/${id}`);
    const later = startServer(world.config, world.database, () => new Date("2100-01-01T00:00:00Z"));
    try {
      const known = { "if-none-match": before.headers.get("etag") ?? "" };
      const after = await organization.member("GET", `/certificates/${id}`, { url: later.url, headers: known });
      expect([before.body.status, after.status, after.body.status, after.body.version]).toEqual(["active", 200, "expired", 1]);
    } finally {
      await later.server.stop(true);
    }
  });

  test("is good for If-Match, and in the body of a change of an assignment", async () => {
    const { organization, pathOf, ids } = await populatedOrganization();
    const path = pathOf(operations.find(({ id }) => id === "updateAssignment") as Operation, ids);
    const change = async (body: object, headers = {}) =>
      (await call("PATCH", path, { body, headers: { ...organization.headers("ORG_ADMIN"), ...headers } })).status;
    const tag = async () => (await call("GET", path, { headers: organization.headers("ORG_MEMBER") })).headers.get("etag") ?? "";
    const first = await tag();
    expect(first).toMatch(/^"1-[0-9a-z]+"$/);
    expect(await change({ enabled: false }, { "if-match": first })).toBe(200);
    expect(await change({ enabled: true }, { "if-match": first })).toBe(412);
    expect(await change({ enabled: true, etag: first })).toBe(409);
    expect(await change({ enabled: true, etag: await tag() })).toBe(200);
  });

  test("is the version alone for HEAD, which has no body to distinguish", async () => {
    const widget = operations.find(({ id }) => id === "getWidget") as Operation;
    const { status, headers } = await ask(widget, { "if-none-match": "*" }, "HEAD");
    expect([status, headers.get("etag")]).toEqual([200, '"1"']);
  });
});

test("a write is not conditional: If-None-Match changes nothing of it", async () => {
  const organization = await newOrganization();
  const { status, headers } = await organization.admin("PATCH", "", { body: { name: "Another" }, headers: { "if-none-match": "*" } });
  expect([status, headers.get("etag")]).toEqual([200, '"2"']);
});
