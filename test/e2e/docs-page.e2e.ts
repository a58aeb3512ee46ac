import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { SignJWT } from "jose";
import { chromium } from "playwright-core";
import { newPlace, serve } from "../support/server/executable";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
];

/** The page in a browser of its own, and all that it asked for or complained of. */
async function openPage(server: string) {
  if (!CHROMIUM) throw new Error("This test needs Chromium: apt-get install chromium");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  const foreign: string[] = [];
  const complaints: string[] = [];
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(`${server}/`) || url.startsWith("data:")) return route.continue();
    foreign.push(url);
    return route.abort();
  });
  page.on("console", (message) => void (["error", "warning"].includes(message.type()) && complaints.push(message.text())));
  page.on("pageerror", (error) => void complaints.push(error.message));
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`,
  );
  return { page, foreign, complaints, close: () => browser.close() };
}

type Document = { paths: Record<string, Record<string, { tags: string[] }>> };

test("GET /swagger finds operations by their words, and calls as who the form says, after a reload too, with nothing of it in an address", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const env = { DATA_DIR: dataDir, JWT_SECRET: "a secret of the tests, long enough to sign" };
  const server = await serve({ cwd, env });
  const { page, foreign, complaints, close } = await openPage(server.url);
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  try {
    const token = await signedToken();
    await page.goto(`${server.url}/swagger`);
    await page.locator(".opblock-tag").first().waitFor();
    await page.locator(".operation-filter-input").fill("top EXPIRING");
    const found = page.locator(".opblock");
    await page.locator("#operations-Certificates-listTopExpiringCertificates").waitFor();
    expect(await found.count()).toBe(1);
    await page.locator(".operation-filter-input").fill("nothing is called so");
    await found.first().waitFor({ state: "detached" });
    await page.locator(".operation-filter-input").fill("");

    await page.locator("#caller [name=token]").fill("not a token");
    await page.locator("#caller button:not([type=reset])").click();
    await page.locator("#said", { hasText: "refuses this token" }).waitFor();
    await page.locator("#caller [name=token]").fill(token);
    await page.locator("#caller button:not([type=reset])").click();
    await page.locator("#said", { hasText: "Calls are made as this" }).waitFor();

    await page.goto("about:blank");
    await page.goto(`${server.url}/swagger#/User/getMe`);
    const me = page.locator("#operations-User-getMe");
    await me.locator("button.execute").click();
    await me.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
    expect(await me.locator(".live-responses-table").textContent()).toContain("ada@certitude.example");
    expect(await page.locator("#caller [name=token]").inputValue()).toBe(token);

    await page.locator("#caller button[type=reset]").click();
    await page.reload();
    await me.locator("button.execute").click();
    await me.locator(".live-responses-table .response-col_status", { hasText: "401" }).waitFor();
    expect(asked.filter((url) => url.includes(token.slice(0, 20)))).toEqual([]);
    expect(complaints.filter((each) => !each.includes("401 (Unauthorized)"))).toEqual([]);
    expect(foreign).toEqual([]);
  } finally {
    await close();
    await server.stop();
    remove();
  }
}, 120_000);

const signedToken = () =>
  new SignJWT({ email: "ada@certitude.example", name: "Ada" })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(crypto.randomUUID())
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode("a secret of the tests, long enough to sign"));

test("GET /swagger shows the operations and asks nobody but the server", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const server = await serve({ cwd, env: { DATA_DIR: dataDir, TRUSTED_GATEWAYS: "127.0.0.1" } });
  const { page, foreign, complaints, close } = await openPage(server.url);
  try {
    const { paths } = (await (await fetch(`${server.url}/swagger/json`)).json()) as Document;
    const documented = Object.groupBy(Object.values(paths).flatMap(Object.values), ({ tags }) => tags.join());
    await page.goto(`${server.url}/swagger`);
    await page.locator(".opblock-tag").first().waitFor({ timeout: 15_000 });
    expect(await page.locator(".info .title").textContent()).toContain("Certitude");
    const shown: Record<string, number> = {};
    for (const tag of await page.locator(".opblock-tag").all()) {
      await tag.click();
      await page.locator(".opblock").first().waitFor();
      shown[(await tag.getAttribute("data-tag")) ?? ""] = await page.locator(".opblock").count();
      await tag.click();
      await page.locator(".opblock").first().waitFor({ state: "detached" });
    }
    expect(shown).toEqual(Object.fromEntries(Object.entries(documented).map(([tag, operations]) => [tag, operations?.length ?? 0])));

    // a link to one operation opens it
    await page.goto("about:blank");
    await page.goto(`${server.url}/swagger#/Certificates/listTopExpiringCertificates`);
    const operation = page.locator("#operations-Certificates-listTopExpiringCertificates");
    await operation.locator(".opblock-body").waitFor({ timeout: 15_000 });
    expect(await operation.textContent()).toContain("x-organization-role");

    await operation.locator("button.execute").click();
    await operation.locator(".live-responses-table .response-col_status").first().waitFor();
    expect(await operation.locator(".live-responses-table").textContent()).toContain("You have no access to this organization.");
    expect(complaints.filter((each) => !each.includes("403 (Forbidden)"))).toEqual([]);
    expect(foreign).toEqual([]);
  } finally {
    await close();
    await server.stop();
    remove();
  }
}, 120_000);
