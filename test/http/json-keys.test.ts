import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { refuseDoubledKeys } from "#http/json-keys";
import { newOrganization } from "../support/server/people";

const countKeys = (value: unknown): number =>
  value === null || typeof value !== "object"
    ? 0
    : Object.values(value).reduce((sum, each) => sum + countKeys(each), Array.isArray(value) ? 0 : Object.keys(value).length);
const check = (text: string) => refuseDoubledKeys(new TextEncoder().encode(text), countKeys(JSON.parse(text)));
const faultOf = (text: string) =>
  check(text).then(
    () => undefined,
    (error) => error.message,
  );

describe("a body that names a field twice", () => {
  test.each([
    ['{"a":1,"a":1}', "body.a"],
    ['{"a":{"b":1,"b":2}}', "body.a.b"],
    ['{"a":[{"b":1},{"b":1,"c":{},"b":2}]}', "body.a.1.b"],
    ['{"a":[[0,1],[{"x":1,"x":2}]]}', "body.a.1.0.x"],
    ['{"a":{"b":1,"b":2},"a":3}', "body.a.b"],
    ['{"a":{"b":1},"c":2,"a":3}', "body.a"],
    ['{"a":1,"\\u0061":2}', "body.a"],
    ['{"\\"":1,"\\u0022":2}', 'body."'],
    ['{"":1,"":2}', "body."],
    ['{"1":1,"1":2}', "body.1"],
    ['{"toString":1,"toString":2}', "body.toString"],
    ['{"a":":,{","b":"\\\\","b":"]"}', "body.b"],
    ['{ "a" : 1 ,\n\t"a"\r\n: 2 }', "body.a"],
    ['{"é":1,"\\u00e9":2}', "body.é"],
    ['[{"a":1,"a":1}]', "body.0.a"],
    [`{"${"k".repeat(500)}":1,"${"k".repeat(500)}":2}`, `body.${"k".repeat(200)}`],
    ['{"\\ud800":1,"\\ud800":2}', "body.\ufffd"],
  ])("%s is refused for %s", async (text, path) => {
    expect(await faultOf(text)).toBe(`${path} is there twice: send each field once.`);
  });

  test.each([
    "{}",
    "[]",
    "1",
    '"a:b"',
    '{"a":{"a":{"a":1}}}',
    '{"a":[{"a":1},{"a":1}]}',
    '{"a":"b:c\\":d","b":":"}',
    '{"a":"\\\\","b":"\\\\\\":"}',
    '{"a":1,"A":2,"a ":3}',
    '{"__proto__":1,"toString":2,"constructor":3}',
    '{"é":1,"e\\u0301":2}',
  ])("%s is taken", async (text) => {
    expect(await faultOf(text)).toBeUndefined();
  });

  test("any JSON is taken as it is, and refused once any of its fields is sent again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), fc.string(), async (value, name) => {
        expect(await faultOf(JSON.stringify(value, null, 1))).toBeUndefined();
        const key = JSON.stringify(name);
        const doubled = `{"x":[${JSON.stringify(value)},{${key}:${JSON.stringify(value)},${key}:0}]}`;
        expect(await faultOf(doubled)).toStartWith(`body.x.1.${name.toWellFormed().slice(0, 100)}`);
      }),
    );
  });

  test("takes time in proportion to its length, whatever is in it, and gives others their turn", async () => {
    const cases: ((size: number) => string)[] = [
      (size) => `{"a":"${'\\"'.repeat(size)}"}`,
      (size) => `{"a":"${"\\\\".repeat(size)}"}`,
      (size) => `{${Array.from({ length: size }, (_, index) => `"${index}":0`).join()}}`,
      (size) => `[${'{"a":1},'.repeat(size)}0]`,
    ];
    for (const make of cases) {
      const bytes = new TextEncoder().encode(make(400_000));
      let turns = 0;
      const beat = setInterval(() => turns++, 0);
      await refuseDoubledKeys(bytes, -1).catch(() => {});
      clearInterval(beat);
      expect(turns).toBeGreaterThan(bytes.length / 1024 / 1024 / 2);
    }
  });
});

test("400 names the field and where it is, and nothing is written", async () => {
  const organization = await newOrganization();
  const send = (raw: string) => organization.admin("POST", "/agents", { raw, headers: { "content-type": "application/json" } });
  expect(await send('{"name":"web-01","labels":{"env":"prod","env":"test"}}')).toMatchObject({
    status: 400,
    body: { message: "body.labels.env is there twice: send each field once." },
  });
  expect((await send('{"name":"web-01","name":"web-01"}')).body.message).toBe("body.name is there twice: send each field once.");
  expect((await organization.admin("GET", "/agents")).body.items).toEqual([]);
  expect((await send('{"name":"web-01"}')).status).toBe(201);
});
