import { beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { nameOf, type Operation, operations, plainWay } from "../support/openapi/document";
import { call } from "../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { openRaw } from "../support/server/raw";
import { NEEDS } from "./needs";
import { placesIn, plant } from "./shapes";

type Headers = Record<string, string>;
type Way = { name: string; operation: Operation; credentials: (everything: PopulatedOrganization, raw: Uint8Array) => Headers };

/** One operation with a JSON body for each way that the document knows to be let in; of those that need nothing else to be done before. */
function findWays(): Way[] {
  const ways = new Map<string, Way>();
  for (const operation of operations.filter((each) => each.body?.type === "application/json" && !(each.id in NEEDS))) {
    const name = plainWay(operation.security).join(" and ");
    if (!ways.has(name)) ways.set(name, { name, operation, credentials: (everything, raw) => everything.credentials(operation, false, { raw }) });
    if (operation.security.some((each) => each.includes("ingestSignature")))
      ways.set("ingestSignature", { name: "ingestSignature", operation, credentials: sign });
  }
  return [...ways.values()];
}

function sign({ keys }: PopulatedOrganization, raw: Uint8Array): Headers {
  const [id, at] = [crypto.randomUUID(), new Date()];
  const signature = new Webhook(keys.ingestKey ?? "").sign(id, at, Buffer.from(raw));
  return { "webhook-id": id, "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": signature };
}

withQueue();

const ways = findWays();
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));

/** Shared by the tests that change nothing in it. */
let unchanged: PopulatedOrganization;
beforeAll(async () => {
  unchanged = await populatedOrganization();
});

test("there is an operation for every way to be let in", () => {
  const known = [
    "agentToken",
    "ingestKey",
    "ingestSignature",
    "joinToken and agentSignature",
    "organizationRole and organizationId",
    "userToken",
    "userToken and platformAdmin",
    "workerKey",
  ];
  expect(ways.map((each) => each.name).toSorted()).toEqual(known);
});

describe.each(ways.map((way) => [`${nameOf(way.operation)} by ${way.name}`, way] as const))("%s", (_, { operation, credentials }) => {
  const send = (everything: PopulatedOrganization, raw: Uint8Array<ArrayBuffer>) =>
    call(operation.method, everything.pathOf(operation), { raw, headers: { "content-type": "application/json", ...credentials(everything, raw) } });

  test.each([
    ["lists", "[", "]"],
    ["objects", '{"a":', "}"],
  ])("400 for 10,000 %s in each other, alone and in every place of the example", async (_kind, open, close) => {
    const deep = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
    const example = unchanged.bodyOf(operation);
    for (const { steps } of placesIn(example, operation.body?.schema)) {
      const answer = await send(unchanged, bytesOf(plant(example, steps, deep)));
      expect(answer).toMatchObject({ status: 400, body: { message: "The body is nested deeper than 64 levels." } });
    }
  });

  test.each([
    ["a lone byte", [0xff]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a cut character", [0xf0, 0x9f, 0xa6]],
  ])("400 for broken UTF-8: %s", async (_kind, broken) => {
    const [before = "", after = ""] = plant(unchanged.bodyOf(operation), [], '{"HERE":1}').split("HERE");
    const answer = await send(unchanged, new Uint8Array([...bytesOf(before), ...broken, ...bytesOf(after)]));
    expect(answer).toMatchObject({ status: 400, body: { message: "The body is not valid JSON in UTF-8." } });
  });

  test("400 when a field is given twice, whether the first or the last is right", async () => {
    const text = JSON.stringify(unchanged.bodyOf(operation));
    for (const key of Object.keys(unchanged.bodyOf(operation) as object)) {
      for (const doubled of [`{"${key}":{"x":[]},${text.slice(1)}`, `${text.slice(0, -1)},"${key}":{"x":[]}}`]) {
        const { status, body } = await send(unchanged, bytesOf(doubled));
        expect([status, body.message]).toEqual([400, `body.${key} is there twice: send each field once.`]);
      }
    }
  });

  test.each([
    ["announces more than it sends", (size: number) => `Content-Length: ${size + 100}`],
    ["announces less than it sends", (size: number) => `Content-Length: ${size - 2}`],
    ["announces far too much", () => "Content-Length: 99999999999"],
    ["announces less than nothing", () => "Content-Length: -5"],
    ["announces two lengths", (size: number) => `Content-Length: ${size}\r\nContent-Length: 5`],
    ["is chunked and has a length", (size: number) => `Transfer-Encoding: chunked\r\nContent-Length: ${size}`],
    ["is chunked and lies", () => "Transfer-Encoding: chunked\r\n\r\nzz"],
  ])("leaves the server alive when it %s", async (_kind, length) => {
    const body = JSON.stringify(unchanged.bodyOf(operation));
    const headers = Object.entries({ "content-type": "application/json", ...credentials(unchanged, bytesOf(body)) }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const connection = await openRaw();
    const lines = [`${operation.method} ${unchanged.pathOf(operation)} HTTP/1.1`, "Host: localhost", ...headers, length(body.length)];
    connection.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
    await Bun.sleep(20);
    connection.close();
    expect((await connection.answer()).status).toBeOneOf([0, 400, 401, 413]);
    expect(await call("GET", "/health/live")).toMatchObject({ status: 200 });
  });
});
