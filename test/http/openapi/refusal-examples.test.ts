import { beforeAll, describe, expect, test } from "bun:test";
import { nameOf, type Operation, operations } from "../../support/openapi/document";
import { call } from "../../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../../support/server/populated-organization";
import { world } from "../../support/server/world";

type Media = { example?: { message?: string } };
type Paths = Record<string, Record<string, { responses: Record<string, { content?: Record<string, Media> }> }>>;

withQueue();

let everything: PopulatedOrganization;
beforeAll(async () => {
  everything = await populatedOrganization();
});

const { paths } = (await (await fetch(`${world.url}/swagger/json`)).json()) as { paths: Paths };
const exampleOf = ({ path, method }: Operation, status: string) =>
  paths[path]?.[method.toLowerCase()]?.responses[status]?.content?.["application/json"]?.example?.message;

const QUERY = /^query\.(\w+) /;

/** The request that the example is about: without the first field of its body, or with a query that is wrong. */
async function provoke(operation: Operation, message: string) {
  const field = QUERY.exec(message)?.[1];
  const wrong = field === "limit" ? "?limit=0" : message.endsWith("is required.") ? "" : "?colour=blue";
  const path = everything.pathOf(operation) + (field ? wrong : "");
  const [first] = message.startsWith("body.colour") ? ['{"colour":"blue"}'] : message === "The body must be an object." ? ["[]"] : ["{}"];
  const raw = operation.body && !field ? first : undefined;
  if (operation.body?.type === "multipart/form-data")
    return call("POST", path, { raw: "--x--\r\n", headers: { ...everything.credentials(operation), "content-type": "multipart/form-data; boundary=x" } });
  const headers = { ...everything.credentials(operation, false, { path, raw }), ...(raw && { "content-type": "application/json" }) };
  return call(operation.method, path, { headers, ...(raw && { raw }) });
}

describe("the example of a refusal is what the operation says", () => {
  // Its link is the permission, so that no query of it is wrong: it is refused.
  const checked = operations.filter(({ id }) => id !== "getCalendar");

  test.each(checked.map((operation) => [nameOf(operation), operation] as const))("400 of %s", async (_, operation) => {
    const message = exampleOf(operation, "400") ?? "";
    const { status, body } = await provoke(operation, message);
    expect({ status, message: body.message }).toEqual({ status: 400, message });
  });

  // What its last id names is not there. One without an id of its own can miss only what its body or its query names.
  const lastId = ({ path }: Operation) => path.match(/\w+(?=\})/g)?.at(-1) ?? "organizationId";
  const missing = operations.filter((operation) => exampleOf(operation, "404") !== undefined && lastId(operation) !== "organizationId");
  const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

  test.each(missing.map((operation) => [nameOf(operation), operation] as const))("404 of %s", async (_, operation) => {
    const wish = operation.id === "snoozeNotification" ? { body: { until: TOMORROW } } : {};
    const { status, body } = await everything.send(operation, { ids: { [lastId(operation)]: crypto.randomUUID() }, ...wish });
    expect({ status, message: body.message }).toEqual({ status: 404, message: exampleOf(operation, "404") });
  });

  test("404 has a sentence of its own wherever the last id of the path can be one that is not there", () => {
    const shared = operations.filter((each) => each.statuses.includes("404") && lastId(each) !== "organizationId" && !missing.includes(each));
    // Their 404 has several sentences, by what is missing.
    expect(shared.map(({ id }) => id).sort()).toEqual(["keepHostCsr", "putDomain", "reportHostChallenges", "reportHostKeyFault", "startRotation"]);
  });
});
