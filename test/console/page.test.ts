import { expect, test } from "bun:test";
import { world } from "../support/server/world";

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${world.url}${path}`, { redirect: "manual", headers });

test.each(["/", "/console"])("GET %s: 302 to the console, by a relative address, so that a path prefix stays", async (path) => {
  const answer = await get(path);
  expect(answer.status).toBe(302);
  expect(answer.headers.get("location")).toBe("console/");
});

test("GET /console/: 200, a page with no inline script or style, under a policy that allows none", async () => {
  const answer = await get("/console/");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
  expect(answer.headers.get("content-security-policy")).not.toContain("unsafe");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  const page = await answer.text();
  expect(page).not.toMatch(/<style|style=|<script(?![^>]* src="\.\/)|(src|href)="(\/|https?:)/);
  expect(page).toContain("<noscript>");
});

test("the page's files: 200, immutable, under names that a change of their content changes; together under 200 KB compressed", async () => {
  const page = await (await get("/console/")).text();
  const names = [...page.matchAll(/"\.\/([^"]+)"/g)].map(([, name = ""]) => name);
  expect(names.map((name) => name.replace(/-[0-9a-z]{8}\./, "-HASH."))).toEqual(["style-HASH.css", "index-HASH.js"]);
  let bytes = 0;
  for (const name of names) {
    const answer = await fetch(`${world.url}/console/${name}`, { headers: { "accept-encoding": "br" }, decompress: false });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(answer.headers.get("content-encoding")).toBe("br");
    bytes += (await answer.bytes()).length;
  }
  expect(bytes).toBeLessThan(200_000);
});

test("GET /console/ of a file of another version: 404, with a sentence", async () => {
  const answer = await get("/console/index-00000000.js");
  expect(answer.status).toBe(404);
  expect(await answer.json()).toEqual({ message: "The console has no such file. Load its page again: a newer one may be there." });
});
