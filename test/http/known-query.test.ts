import { beforeAll, describe, expect, test } from "bun:test";
import { nameOf, operations } from "../support/openapi/document";
import { call } from "../support/server/call";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { world } from "../support/server/world";

withQueue();

let everything: PopulatedOrganization;
let organization: TestOrganization;
beforeAll(async () => {
  everything = await populatedOrganization();
  organization = await newOrganization();
});

// A calendar program may add what it likes to the link.
const APART = new Set(["getCalendar"]);

describe.each(operations.filter(({ id }) => !APART.has(id)).map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("400 for a field of the query that it does not know, which is named with those that it knows", async () => {
    const known = operation.parameters.filter((each) => each.in === "query");
    const needed = known.filter((each) => each.required).map(({ name }) => `${name}=${everything.ids[name] ?? "x"}&`);
    const path = `${everything.pathOf(operation)}?${needed.join("")}colour=blue`;
    const isForm = operation.body?.type === "multipart/form-data";
    const raw = operation.body && !isForm ? JSON.stringify(everything.bodyOf(operation)) : undefined;
    const credentials = everything.credentials(operation, false, { path, raw });
    const wish = { headers: { ...credentials, ...(raw !== undefined && { "content-type": "application/json" }) }, ...(raw !== undefined && { raw }) };
    const { status, body } = isForm ? await sendForm(path, credentials) : await call(operation.method, path, wish);
    const list = known.map(({ name }) => name);
    const rest = list.length === 0 ? ": this operation has none in its query." : `. Known here: ${list.join(", ")}.`;
    expect({ status, body }).toEqual({ status: 400, body: { message: `query.colour is not a known field${rest}` } });
  });
});

function sendForm(path: string, headers: Record<string, string>) {
  const raw = `--x\r\ncontent-disposition: form-data; name="title"\r\n\r\nKeys\r\n--x\r\ncontent-disposition: form-data; name="organizationId"\r\n\r\n${organization.id}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a.md"\r\ncontent-type: text/markdown\r\n\r\n# Keys\r\n--x--\r\n`;
  return call("POST", path, { headers: { ...headers, "content-type": "multipart/form-data; boundary=x" }, raw });
}

test.each([
  ["stauts=active", "query.stauts is not a known field; did you mean status? Known here: "],
  ["Limit=5", "query.Limit is not a known field; did you mean limit? Known here: "],
  ["limit=5&curser=x", "query.curser is not a known field; did you mean cursor?"],
  ["%6Cimits=5", "query.limits is not a known field; did you mean limit?"],
  ["", undefined],
  ["limit=5&&", undefined],
  ["=5", "query. is not a known field"],
  ["__proto__=5", "query.__proto__ is not a known field. Known here: "],
  ["constructor=5", "query.constructor is not a known field. Known here: "],
  ["%00=5", "query.\0 is not a known field"],
  [`${"a".repeat(5_000)}=5`, `query.${"a".repeat(100)} is not a known field. Known here: `],
  ["limit%5B%5D=5", "query.limit[] is not a known field. Known here: "],
])("?%s", async (query, expected) => {
  const { status, body } = await organization.member("GET", `/certificates?${query}`);
  expect(status).toBe(expected === undefined ? 200 : 400);
  if (expected !== undefined) expect(body.message).toStartWith(expected);
});

test("HEAD is answered as GET is", async () => {
  expect((await organization.member("HEAD", "/certificates?colour=blue")).status).toBe(400);
});

test("401 and 403 come before it, 404 after it", async () => {
  const nobody = crypto.randomUUID();
  expect((await call("GET", "/users/me?colour=blue")).status).toBe(401);
  expect((await call("GET", `/organizations/${organization.id}/certificates?colour=blue`)).status).toBe(403);
  expect((await organization.member("GET", `/certificates/${nobody}?colour=blue`)).status).toBe(400);
});

test("what is not in the document takes what it is given: the pages, metrics, and what other protocols ask for", async () => {
  for (const path of ["/swagger", "/swagger/json"]) expect((await fetch(`${world.url}${path}?colour=blue`)).status).toBe(200);
});
