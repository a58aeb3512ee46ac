import { beforeAll, describe, expect, test } from "bun:test";
import { nameOf, type Operation, operations, resolve } from "../support/openapi/document";
import { call } from "../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { rowsOf } from "../support/server/rows";
import { nearlyJson } from "./junk";
import { findLeak } from "./leaks";
import { addMember, type Place, placesIn, plant } from "./shapes";

withQueue();

/** Shared by the tests that change nothing in it. */
let unchanged: PopulatedOrganization;
beforeAll(async () => {
  unchanged = await populatedOrganization();
});

const withBody = operations.filter((each) => each.body?.type === "application/json");
const withQuery = operations.filter((each) => each.parameters.some(({ in: place }) => place === "query"));
const byName = (list: Operation[]) => list.map((operation) => [nameOf(operation), operation] as const);

const WRONG: Record<string, string[]> = {
  string: ["5", "true", "[]", "{}", '{"toString":1,"length":-1}', '"\\u0000"', '"a\\u0000b"', '"\\ud800"'],
  integer: ['"5"', "1.5", "true", "[1]", "{}", "1e400"],
  number: ['"5"', "true", "[1]", "{}", "1e400"],
  boolean: ['"true"', "0", "[]", "{}"],
  array: ['"x"', "5", "{}", '{"length":1,"0":"x"}'],
  object: ['"x"', "5", "[]", "null"],
};

/** Bodies that differ from the example in one place, and where. */
function* wrongBodies(everything: PopulatedOrganization, operation: Operation) {
  const example = everything.bodyOf(operation);
  for (const place of placesIn(example, operation.body?.schema)) {
    const wrong = (WRONG[place.schema.type ?? ""] ?? []).filter((raw) => raw !== "null" || !place.schema.nullable);
    for (const raw of wrong) yield { where: place.steps.join("."), body: plant(example, place.steps, raw) };
    if (place.schema.additionalProperties === false)
      for (const member of ['"nonsense":1', '"__proto__":{"a":1}', '"constructor":1'])
        yield { where: `${place.steps.join(".")} ${member}`, body: addMember(example, place, member) };
  }
}

/** Text that names a thing may name nothing: the answer is 404 then. */
const REFUSED = [400, 404];

async function send(everything: PopulatedOrganization, operation: Operation, { query = "", raw }: { query?: string; raw?: string } = {}) {
  const type = raw !== undefined && { "content-type": "application/json" };
  const path = `${everything.pathOf(operation)}${query}`;
  const headers = { ...type, ...everything.credentials(operation, true, { path, raw }) };
  const answer = await call(operation.method, path, { headers, ...(raw !== undefined && { raw }) });
  if (answer.status >= 400 && answer.text !== "{}") expect(findLeak(answer.body.message)).toBeUndefined();
  return answer.status;
}

describe.each(byName(withBody))("%s", (_, operation) => {
  test("400, and nothing changes, for a wrong type, NUL or a lone surrogate in any place of the example, and for a field that no object knows", async () => {
    const before = await rowsOf(unchanged.organization.id);
    for (const { where, body } of wrongBodies(unchanged, operation)) {
      const status = await send(unchanged, operation, { raw: body });
      expect({ where, body, isRefused: REFUSED.includes(status), status }).toEqual({ where, body, isRefused: true, status });
    }
    expect(await rowsOf(unchanged.organization.id)).toEqual(before);
  });

  test("answers as documented to what is nearly right in any place", async () => {
    const everything = await populatedOrganization();
    const example = everything.bodyOf(operation);
    for (const place of placesIn(example, operation.body?.schema))
      for (const raw of near(place)) expect(await send(everything, operation, { raw: plant(example, place.steps, raw) })).toBeLessThan(500);
  });
});

const near = ({ schema }: Place) => nearlyJson(schema).slice(0, 40);

describe.each(byName(withQuery))("%s", (_, operation) => {
  test("answers as documented to a query that is nearly right", async () => {
    const queries = operation.parameters.filter((each) => each.in === "query");
    for (const { name, schema } of queries)
      for (const value of nearlyJson(resolve(schema)).map((raw) => encodeURIComponent(JSON.parse(raw)))) {
        const others = queries.filter((each) => each.required && each.name !== name).map((each) => `&${each.name}=${unchanged.ids[each.name] ?? "accuracy"}`);
        expect(await send(unchanged, operation, { query: `?${name}=${value}${others.join("")}` })).toBeLessThan(500);
      }
  });
});
