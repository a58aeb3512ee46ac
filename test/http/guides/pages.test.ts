import { describe, expect, test } from "bun:test";
import { GUIDE_NAMES } from "#http/guides/pages";
import { listVariables } from "#text/variables";
import { startReverseProxy } from "../../support/server/reverse-proxy";
import { world } from "../../support/server/world";

const get = (path: string, init: RequestInit = {}) => fetch(`${world.url}${path}`, { redirect: "manual", ...init });
const linksOf = (html: string) => [...html.matchAll(/ href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));

describe("GET /docs", () => {
  test("200 lists every guide", async () => {
    const html = await (await get("/docs")).text();
    for (const name of GUIDE_NAMES) expect(linksOf(html)).toContain(`docs/${name}`);
  });

  test.each([
    ["/docs/", "../docs"],
    ["/docs/hosts/", "../hosts"],
  ])("302 from %s, where its links would lead elsewhere", async (path, location) => {
    const { status, headers } = await get(path);
    expect([status, headers.get("location")]).toEqual([302, location]);
  });

  test("404 for a guide that is not there", async () => {
    for (const name of ["nothing", "constructor", "..%2Fdocs"]) {
      const answer = await get(`/docs/${name}`);
      expect([answer.status, await answer.json()]).toEqual([404, { message: "There is no such guide. /docs lists them." }]);
    }
  });

  test.each(["/docs", ...GUIDE_NAMES.map((name) => `/docs/${name}`)])(
    "200 %s is a page that loads nothing else, and whose links lead somewhere",
    async (path) => {
      const answer = await get(path);
      const html = await answer.text();
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(answer.headers.get("content-security-policy")).toStartWith("default-src 'none'; style-src 'sha256-");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(html).not.toMatch(/<script|<img| src=|@import|url\(/);
      for (const href of linksOf(html).filter((each) => !/^(data:|#|http:\/\/127\.0\.0\.1:3000)/.test(each))) {
        const target = await fetch(new URL(href, `${world.url}${path}`));
        expect({ href, status: target.status }).toEqual({ href, status: 200 });
        await target.body?.cancel();
      }
    },
  );

  test("has a tag, and a compressed form", async () => {
    const answer = await get("/docs/hosts", { headers: { "accept-encoding": "gzip" } });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    const etag = answer.headers.get("etag") ?? "";
    expect((await get("/docs/hosts", { headers: { "accept-encoding": "gzip", "if-none-match": etag } })).status).toBe(304);
    expect((await get("/docs/hosts", { method: "HEAD" })).status).toBe(200);
    expect((await get("/docs/hosts", { method: "POST" })).status).toBe(405);
  });

  test("works behind a proxy's path", async () => {
    const proxy = await startReverseProxy(world.url, { below: "rewrite ^/certitude/(.*)$ /$1 break; proxy_pass http://$app;" });
    const page = `${proxy.urls.below}/certitude/docs`;
    for (const href of linksOf(await (await fetch(page)).text()).filter((each) => !each.startsWith("data:")))
      expect({ href, status: (await fetch(new URL(href, page))).status }).toEqual({ href, status: 200 });
    await proxy.stop();
  });
});

test("GET /docs/variables has every variable", async () => {
  const html = await (await get("/docs/variables")).text();
  for (const [name] of listVariables()) expect(html).toContain(`<strong><code>${name}</code></strong>`);
});
