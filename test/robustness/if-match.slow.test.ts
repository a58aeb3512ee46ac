import { describe, expect, test } from "bun:test";
import { sendRaw } from "../auth/servers";
import { nameOf, type Operation, operations } from "../support/openapi/document";
import { call } from "../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { rowsOf } from "../support/server/rows";
import { world } from "../support/server/world";
import { NEEDS } from "./needs";

withQueue();

const conditional = operations.filter((each) => each.statuses.includes("412"));
const readable = operations.filter((each) => each.method === "GET").map((each) => each.path);

/** The ETag of what an operation changes: of its own path, or of the nearest one above that can be read; a list names versions. */
async function tagOf(everything: PopulatedOrganization, operation: Operation) {
  const segments = operation.path.split("/");
  while (!readable.includes(segments.join("/"))) segments.pop();
  const read = operations.find((each) => each.method === "GET" && each.path === segments.join("/")) as Operation;
  const { headers, body } = await call("GET", everything.pathOf(read), { headers: everything.credentials(read) });
  const listed = body.items?.find((each: { id: string }) => Object.values(everything.ids).includes(each.id));
  return headers.get("etag") ?? `"${listed?.version}"`;
}

describe.each(conditional.map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  const prepare = async () => {
    const everything = await populatedOrganization();
    const { headers, ...wish } = (await NEEDS[operation.id]?.(everything)) ?? {};
    const send = (ifMatch: string) => everything.send(operation, { ...wish, headers: { ...headers, "if-match": ifMatch } });
    return { everything, send, tag: await tagOf(everything, operation) };
  };

  test("412 for a list without the ETag, for its weak form and for what is no list; then 2xx for a list with it", async () => {
    const { everything, send, tag } = await prepare();
    expect(tag).toMatch(/^"\d+(-[0-9a-z]+)?"$/);
    const before = await rowsOf(everything.organization.id);
    for (const wrong of ['"98"', '"98", "99"', `W/${tag}`, `"98", W/${tag}`, tag.replaceAll('"', ""), `*, ${tag}`, `${tag} "98"`, "nonsense"]) {
      const { status, text } = await send(wrong);
      expect({ wrong, status, text }).toEqual({ wrong, status: 412, text: "{}" });
    }
    expect(await rowsOf(everything.organization.id)).toEqual(before);
    const { status, text } = await send(`"98", ${tag}`);
    expect({ text, isDone: status < 300 }).toEqual({ text, isDone: true });
  });

  test("2xx for *", async () => {
    const { status, text } = await (await prepare()).send("*");
    expect({ text, isDone: status < 300 }).toEqual({ text, isDone: true });
  });
});

test("two lines of If-Match are one list", async () => {
  const { organization, pathOf, ids } = await populatedOrganization();
  const path = pathOf(operations.find((each) => each.id === "deleteWidget") as Operation, ids);
  const headers = Object.entries(organization.headers("ORG_ADMIN")).map(([name, value]) => `${name}: ${value}`);
  const lines = [`DELETE ${path} HTTP/1.1`, "host: localhost", ...headers];
  expect(await sendRaw(world.url, [...lines, 'if-match: "98"', 'if-match: "99"'])).toBe(412);
  expect(await sendRaw(world.url, [...lines, 'if-match: "98"', 'if-match: "1"'])).toBe(204);
});
