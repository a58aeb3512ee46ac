import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
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

test("GET /swagger shows the operations and asks nobody but the server", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const server = await serve({ cwd, env: { DATA_DIR: dataDir, TRUSTED_GATEWAYS: "127.0.0.1" } });
  const { page, foreign, complaints, close } = await openPage(server.url);
  try {
    await page.goto(`${server.url}/swagger`);
    const operation = page.locator("#operations-Certificates-listTopExpiringCertificates");
    await operation.waitFor({ timeout: 15_000 });
    const { paths } = (await (await fetch(`${server.url}/swagger/json`)).json()) as { paths: Record<string, object> };
    expect(await page.locator(".opblock").count()).toBe(Object.values(paths).flatMap(Object.keys).length);
    expect(await page.locator(".info .title").textContent()).toContain("Certitude");

    await operation.locator(".opblock-summary-control").click();
    await operation.locator(".opblock-body").waitFor();
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
