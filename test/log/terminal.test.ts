import { describe, expect, test } from "bun:test";
import { createLog } from "#log/log";
import { fileLog, terminalLog } from "#log/terminal";

/** A log that is shown to a person, and what is shown. */
function newTerminal(isTTY = false) {
  const shown: string[] = [];
  const write = (text: string | Uint8Array) => shown.push(String(text)) > 0;
  return { log: createLog("debug", terminalLog({ write, isTTY }, isTTY)), text: () => shown.join("") };
}

const request = { requestId: "one", method: "GET", route: "/organizations/:organizationId/certificates", status: 200, ms: 3.2, organization: "o" };

describe("the log as a person sees it", () => {
  test.each([
    [request, "200 GET /organizations/…/certificates 3 ms\n"],
    [{ ...request, ms: 0.417 }, "200 GET /organizations/…/certificates 0.4 ms\n"],
    [{ ...request, route: "/files/*" }, "200 GET /files/… 3 ms\n"],
    [{ ...request, status: 404, route: "unknown" }, "404 GET (no such route) 3 ms\n"],
    [{ ...request, status: 403, reason: "not a member", peer: "::1" }, "403 GET /organizations/…/certificates 3 ms not a member\n"],
  ])("is one short line a request: %p", (fields, line) => {
    const { log, text } = newTerminal();
    log.info(fields);
    expect(text()).toBe(line);
  });

  test("has the words first, then the fields; of a long list only its length", () => {
    const { log, text } = newTerminal();
    log.info({ url: "http://127.0.0.1:3000/", names: ["a", "b"], migrations: ["a", "b", "c", "d"] }, "server listening");
    log.warn({ reason: "connection refused" }, "retrying");
    expect(text()).toBe('server listening url=http://127.0.0.1:3000/ names=a,b migrations=4\nwarn retrying reason="connection refused"\n');
  });

  test("shows control characters and what turns text around as escapes, so that no value rules the terminal", () => {
    const { log, text } = newTerminal();
    log.warn({ subject: "CN=\x1b]0;owned\x07\u202ecod.exe", err: new Error("\x1b[2Jgone\u009b1A") }, "a \x1b[31mword");
    expect(text()).toStartWith("warn a \\u001b[31mword subject=CN=\\u001b]0;owned\\u0007\\u202ecod.exe\n  Error: \\u001b[2Jgone\\u009b1A\n");
    expect(text()).not.toMatch(/[^\P{Cc}\n\t]/u);
  });

  test("in a file has the time of each line, and no colors", () => {
    const written: string[] = [];
    const log = createLog(
      "info",
      fileLog((text) => void written.push(text)),
    );
    log.info({ path: "/a" }, "changing a file");
    log.error({ reason: "no space" }, "failed");
    expect(written.join("")).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z changing a file path=\/a\n\d{4}-\S+Z error failed reason="no space"\n$/);
  });

  test("shows an error with its cause and where it happened", () => {
    const { log, text } = newTerminal();
    log.error({ err: new TypeError("no such thing", { cause: new Error("gone") }) }, "unexpected error");
    expect(text()).toMatch(/^error unexpected error\n {2}TypeError: no such thing\n( +at .+\n)+ {2}Error: gone\n( +at .+\n?)+$/);
  });

  test("on a terminal removes a progress line first, and colors the status", () => {
    const { log, text } = newTerminal(true);
    log.info(request);
    expect(text()).toBe("\r\x1b[K\x1b[32m200\x1b[39m GET /organizations/…/certificates \x1b[90m3 ms\x1b[39m\n");
  });
});
