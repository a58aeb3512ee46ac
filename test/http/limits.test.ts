import { describe, expect, test } from "bun:test";
import { call } from "../support/server/call";
import { newOrganization, newUser } from "../support/server/people";
import { openRaw } from "../support/server/raw";

const MIB = 1024 * 1024;
const JSON_TYPE = { "content-type": "application/json" };
const NOT_JSON = { message: "The body is not valid JSON in UTF-8." };
const TOO_DEEP = { message: "The body is nested deeper than 64 levels." };

async function update(raw: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = JSON_TYPE) {
  const { token } = await newUser();
  return call("PATCH", "/users/me/profile", { raw, headers, token });
}

/** A body of `size` spaces without a content-length. */
function spaces(size: number) {
  let left = size;
  return new ReadableStream({
    pull(controller) {
      const count = Math.min(65_536, left);
      left -= count;
      if (count > 0) controller.enqueue(new Uint8Array(count).fill(32));
      if (left === 0) controller.close();
    },
  });
}

describe("the size of a body", () => {
  test("413 above 1 MiB, announced or streamed", async () => {
    const tooLarge = { status: 413, body: { message: "The body is larger than 1 MiB." } };
    expect(await update("x".repeat(MIB + 1))).toMatchObject(tooLarge);
    expect(await update(spaces(MIB + 1))).toMatchObject(tooLarge);
    expect(await update(spaces(10 * MIB))).toMatchObject(tooLarge);
  });

  test("400 for the content of exactly 1 MiB, which is read", async () => {
    expect(await update("x".repeat(MIB))).toMatchObject({ status: 400, body: NOT_JSON });
    expect(await update(spaces(MIB))).toMatchObject({ status: 400, body: NOT_JSON });
  });

  test("200 for a value and as many spaces as fit", async () => {
    const value = '{"displayName":"Ada"}';
    expect(await update(value + " ".repeat(MIB - value.length))).toMatchObject({ status: 200 });
  });

  test("413 above 8 MiB of certificates, 10 MB of PEM too", async () => {
    const { admin } = await newOrganization();
    const tooLarge = { status: 413, body: { message: "The body is larger than 8 MiB." } };
    expect(await admin("POST", "/certificates", { raw: "x".repeat(8 * MIB + 1), headers: JSON_TYPE })).toMatchObject(tooLarge);
    expect(await admin("POST", "/certificates", { raw: spaces(8 * MIB + 1), headers: JSON_TYPE })).toMatchObject(tooLarge);
    expect(await admin("POST", "/certificates", { body: { pem: "A".repeat(10_000_000) } })).toMatchObject(tooLarge);
  });

  test("400 for the content of exactly 8 MiB of certificates", async () => {
    const { admin } = await newOrganization();
    expect(await admin("POST", "/certificates", { raw: "x".repeat(8 * MIB), headers: JSON_TYPE })).toMatchObject({ status: 400, body: NOT_JSON });
    expect(await admin("POST", "/certificates", { body: { pem: "A".repeat(8_000_000) } })).toMatchObject({ status: 400 });
  });
});

describe("the type of a body", () => {
  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "text/json", "", "application/json/x"])(
    "415 for %j",
    async (type) => {
      const body = { message: "The body must be JSON: send content-type: application/json." };
      expect(await update(Buffer.from('{"displayName":"Ada"}'), { "content-type": type })).toMatchObject({ status: 415, body });
    },
  );

  test("415 without one", async () => {
    expect(await update(Buffer.from('{"displayName":"Ada"}'), {})).toMatchObject({ status: 415 });
  });

  test.each([
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "APPLICATION/JSON",
    "application/json ; x=y",
    "application/merge-patch+json",
  ])("200 for %j", async (type) => {
    expect(await update('{"displayName":"Ada"}', { "content-type": type })).toMatchObject({ status: 200 });
  });
});

describe("the text of a body", () => {
  test.each(["", " ", "{", "[1,]", "NaN", "'a'", '{"displayName":"Ada"} x', '{"displayName":"a\nb"}', "\0"])("400 for %j", async (raw) => {
    expect((await update(raw)).status).toBe(400);
  });

  test.each([
    ["a lone byte", [0xff]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a cut character", [0xf0, 0x9f, 0xa6]],
  ])("400 for broken UTF-8: %s", async (_, bytes) => {
    const raw = new Uint8Array([...Buffer.from('{"displayName":"'), ...bytes, ...Buffer.from('"}')]);
    expect(await update(raw)).toMatchObject({ status: 400, body: NOT_JSON });
  });

  test("400 for UTF-16", async () => {
    expect(await update(new Uint8Array(Buffer.from('\ufeff{"displayName":"Ada"}', "utf16le")))).toMatchObject({ status: 400, body: NOT_JSON });
  });

  test("200 with a byte order mark before it", async () => {
    expect(await update('\ufeff{"displayName":"Ada"}')).toMatchObject({ status: 200 });
  });

  test.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", ""])("400 for a field named %j", async (name) => {
    const { status, body } = await update(`{"displayName":"Ada",${JSON.stringify(name)}:{"admin":true}}`);
    expect(status).toBe(400);
    expect(body.message).toEndWith(`${name} is not a known field.`);
  });

  test.each([
    ["lists", "[", "]", 10_000],
    ["objects", '{"a":', "}", 10_000],
    ["as many lists as fit", "[", "]", 500_000],
  ])("400 for deep %s", async (_, open, close, levels) => {
    expect(await update(`${open.repeat(levels)}1${close.repeat(levels)}`)).toMatchObject({ status: 400, body: TOO_DEEP });
    expect(await update(`{"displayName":${open.repeat(levels)}1${close.repeat(levels)}}`)).toMatchObject({ status: 400, body: TOO_DEEP });
  });

  test.each([
    ['{"displayName":5,"displayName":"Ada"}', "displayName"],
    ['{"displayName":"Ada","displayName":"Ada"}', "displayName"],
    ['{"displayName":"Ada","x":[{"y":1,"y":2}]}', "x.0.y"],
  ])("400 for a field given twice: %s", async (text, path) => {
    expect(await update(text)).toMatchObject({ status: 400, body: { message: `body.${path} is there twice: send each field once.` } });
  });
});

describe("an upload that does not go to plan", () => {
  const head = (token: string, length: string) =>
    `PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;
  const value = '{"displayName":"Slow"}';

  test.each([
    ["announces more than it sends", "Content-Length: 100"],
    ["announces far too much", "Content-Length: 99999999999"],
    ["announces less than nothing", "Content-Length: -5"],
    ["announces nonsense", "Content-Length: x"],
    ["announces two lengths", "Content-Length: 5\r\nContent-Length: 500"],
    ["is chunked and ends within a chunk", "Transfer-Encoding: chunked\r\n\r\n50\r\n"],
    ["is chunked and lies", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"],
    ["is chunked and has a length", "Transfer-Encoding: chunked\r\nContent-Length: 5"],
  ])("leaves the server alive when it %s", async (_, length) => {
    const { token } = await newUser();
    const connection = await openRaw();
    connection.write(head(token, length) + value.slice(0, 8));
    await Bun.sleep(20);
    connection.close();
    expect((await connection.answer()).status).toBeOneOf([0, 400, 413]);
    expect(await call("GET", "/health/live")).toMatchObject({ status: 200 });
  });

  test("200 when it is slow and honest", async () => {
    const { token } = await newUser();
    const connection = await openRaw();
    connection.write(head(token, `Content-Length: ${value.length}`));
    for (const character of value) {
      connection.write(character);
      await Bun.sleep(20);
    }
    expect(await connection.answer()).toMatchObject({ status: 200 });
    connection.close();
  });

  test("401 and 403 for a stranger who has sent none of a huge body yet", async () => {
    const { id } = await newOrganization();
    for (const [path, status] of [
      ["/users/me/profile", 401],
      [`/organizations/${id}/certificates`, 403],
    ] as const) {
      for (const length of ["Content-Length: 60000000", "Transfer-Encoding: chunked"]) {
        const connection = await openRaw();
        connection.write(`${status === 401 ? "PATCH" : "POST"} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${length}\r\n\r\n`);
        expect(await connection.answer()).toMatchObject({ status });
        connection.close();
      }
    }
  });
});
