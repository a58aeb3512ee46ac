import { describe, expect, test } from "bun:test";
import { sendRaw } from "../support/server/raw";

describe("the Host header", () => {
  const ask = (lines: string, version = "1.1") => sendRaw(`GET /health/live HTTP/${version}\r\n${lines}\r\n`);
  const REFUSED = JSON.stringify({ message: "The Host header must name one host." });

  test.each([
    ["none, in HTTP/1.0", "", "1.0"],
    ["empty", "Host: \r\n", "1.1"],
    ["doubled", "Host: a.example\r\nHost: b.example\r\n", "1.1"],
    ["doubled with itself", "Host: localhost\r\nHost: localhost\r\n", "1.1"],
    ["a list", "Host: a.example, b.example\r\n", "1.1"],
    ["with a space", "Host: a b\r\n", "1.1"],
    ["a URL", "Host: http://localhost\r\n", "1.1"],
    ["with a path", "Host: localhost/admin\r\n", "1.1"],
    ["with a user", "Host: me@localhost\r\n", "1.1"],
    ["with a port that is none", "Host: localhost:x\r\n", "1.1"],
    ["with a port above 65535", "Host: localhost:65536\r\n", "1.1"],
    ["with a port of six digits", "Host: localhost:000080\r\n", "1.1"],
    ["with two ports", "Host: localhost:80:80\r\n", "1.1"],
    ["a port alone", "Host: :80\r\n", "1.1"],
    ["doubled in other letters, the second one empty", "Host: localhost\r\nHOST:\r\n", "1.1"],
    ["doubled, the first one empty", "Host:\r\nhost: localhost\r\n", "1.1"],
    ["doubled in HTTP/1.0", "Host: localhost\r\nHost: localhost\r\n", "1.0"],
    ["a comma", "Host: ,\r\n", "1.1"],
    ["a dot", "Host: .\r\n", "1.1"],
    ["two dots", "Host: ..\r\n", "1.1"],
    ["an empty label", "Host: a..b\r\n", "1.1"],
    ["two dots at the end", "Host: a..\r\n", "1.1"],
    ["a dot in front", "Host: .a\r\n", "1.1"],
    ["a label that begins with a hyphen", "Host: -a.example\r\n", "1.1"],
    ["a label that ends with a hyphen", "Host: a-.example\r\n", "1.1"],
    ["a label of 64 characters", `Host: ${"a".repeat(64)}.example\r\n`, "1.1"],
    ["254 characters", `Host: ${"a.".repeat(126)}aa\r\n`, "1.1"],
    ["ten thousand characters", `Host: ${"a".repeat(10_000)}\r\n`, "1.1"],
    ["percent-encoded", "Host: %6cocalhost\r\n", "1.1"],
    ["punycode that says nothing", "Host: xn--a.example\r\n", "1.1"],
    ["a letter that needs punycode", "Host: \u00e9.example\r\n", "1.1"],
    ["a number", "Host: 1\r\n", "1.1"],
    ["an address of two numbers", "Host: 127.1\r\n", "1.1"],
    ["an address in hexadecimal", "Host: 0x7f.1\r\n", "1.1"],
    ["an address with a number above 255", "Host: 127.0.0.256\r\n", "1.1"],
    ["an address of five numbers", "Host: 127.0.0.1.1\r\n", "1.1"],
    ["an address with a leading zero", "Host: 127.0.0.01\r\n", "1.1"],
    ["an address that ends in a dot", "Host: 127.0.0.1.\r\n", "1.1"],
    ["IPv6 without brackets", "Host: ::1\r\n", "1.1"],
    ["IPv6 with three colons", "Host: [:::1]\r\n", "1.1"],
    ["IPv6 that is too short", "Host: [1:2]\r\n", "1.1"],
    ["IPv6 with a zone", "Host: [fe80::1%25eth0]\r\n", "1.1"],
    ["IPv6 that is not closed", "Host: [::1\r\n", "1.1"],
    ["empty brackets", "Host: []\r\n", "1.1"],
    ["a future address", "Host: [v1.a]\r\n", "1.1"],
    ["a question mark", "Host: a?b\r\n", "1.1"],
    ["a hash", "Host: a#b\r\n", "1.1"],
    ["a backslash", "Host: a\\b\r\n", "1.1"],
    ["a tab", "Host: a\tb\r\n", "1.1"],
    ["a quote", 'Host: "a"\r\n', "1.1"],
    ["a path and a question mark", "Host: x/health/live?\r\n", "1.1"],
  ])("400 %s, with a request id", async (_, lines, version) => {
    const answer = await ask(`${lines}x-request-id: edge-1\r\n`, version);
    expect(answer).toMatchObject({ status: 400, body: REFUSED });
    expect(answer.headers.get("x-request-id")).toBe("edge-1");
  });

  test("400 none, in HTTP/1.1", async () => {
    expect((await ask("")).status).toBe(400);
  });

  test.each([
    "localhost",
    "LOCALHOST",
    "127.0.0.1:3000",
    "[::1]:3000",
    "[2001:DB8::1]",
    "[::ffff:127.0.0.1]",
    "portal.example",
    "portal.example.",
    "portal.example:",
    "portal.example:0",
    "portal.example:65535",
    "a_b.internal",
    "_a",
    "3com.example",
    "1a",
    "xn--bcher-kva.example",
    `${"a".repeat(63)}.example`,
    `${"a.".repeat(126)}a`,
  ])("200 %s", async (host) => {
    expect(await ask(`Host: ${host}\r\n`)).toMatchObject({ status: 200 });
  });

  test.each(["x", "ab", "abc", "a.b", "x:1", "x:80", "ab:9", "abcd"])("the path is the whole path under the host %s", async (host) => {
    const get = (target: string) => sendRaw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await get("/health/live")).toMatchObject({ status: 200 });
    expect(await get("/swagger")).toMatchObject({ status: 200 });
    expect(await get("/swagger/json?x=/y")).toMatchObject({ status: 200 });
    for (const prefix of ["/", "/z", "/zz", "/zzz", "/zzzz", "/z/z", "//", "/./z"]) {
      expect(await get(`${prefix}/health/live`)).toMatchObject({ status: 404 });
      expect(await get(`${prefix}/metrics`)).toMatchObject({ status: 404 });
    }
    for (const path of ["/health/live", "/metrics"]) expect(await get(`/?${path}`)).toMatchObject({ status: 302 });
    expect(await get("/zz/users/me")).toMatchObject({ status: 404 });
    expect(await get("/users/me")).toMatchObject({ status: 401 });
  });
});

describe("the request target", () => {
  const get = (target: string, host = "localhost", method = "GET") => sendRaw(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

  test.each([
    "http://x/zz/health/live",
    "http://localhost/zz/health/live",
    "https://x/zz/health/live",
    "http://x//health/live",
    "http://x/%68ealth/live",
    "//x/health/live",
    "/%2fhealth/live",
    "/health%2flive",
    "/health/live%00",
    "/health/live/x/../y",
    "/health/live;x",
    "/health/live#x",
    "/x#/health/live",
    "/x?/health/live",
    "/\\health/live",
    "/.//health/live",
  ])("404 %s, under a short host too", async (target) => {
    for (const host of ["localhost", "x"]) expect(await get(target, host)).toMatchObject({ status: 404 });
  });

  test.each(["health/live", "*", "?x", "http:/health/live", "ftp://x/health/live", "\\health/live", ""])("400 %j", async (target) => {
    expect((await get(target)).status).toBe(400);
  });

  test("CONNECT names no path", async () => {
    for (const target of ["localhost:80", "localhost:80/health/live", "/health/live"])
      expect([400, 404, 405]).toContain((await get(target, "x", "CONNECT")).status);
  });

  test("its host does not count, the Host header does", async () => {
    expect(await get("http://a..b/health/live")).toMatchObject({ status: 200 });
    expect(await get("http://localhost/health/live", "a..b")).toMatchObject({ status: 400 });
  });
});
