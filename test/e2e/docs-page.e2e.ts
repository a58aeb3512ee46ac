import { expect, test } from "bun:test";
import { openBrowser } from "../support/browser/browser";
import { newPlace, serve } from "../support/server/executable";
import { sign } from "../support/server/people";
import { JWT_SECRET } from "../support/server/world";

/** The page in a browser as high as its operations are long. */
async function openPage(server: string) {
  const opened = await openBrowser(server);
  await opened.page.setViewportSize({ width: 1280, height: 1600 });
  return opened;
}

type Document = { paths: Record<string, Record<string, { tags: string[] }>> };

test("GET /swagger finds operations by their words, and calls as who the form says, after a reload too, with nothing of it in an address", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const env = { DATA_DIR: dataDir, JWT_SECRET };
  const server = await serve({ cwd, env });
  const { page, faults, close } = await openPage(server.url);
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  try {
    const token = await sign({ sub: crypto.randomUUID(), email: "ada@certitude.example", name: "Ada" });
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
    expect(faults.filter((each) => !each.includes("401 (Unauthorized)"))).toEqual([]);
  } finally {
    await close();
    await server.stop();
    remove();
  }
}, 120_000);

test("GET /swagger shows the operations and asks nobody but the server", async () => {
  const { cwd, dataDir, remove } = newPlace();
  const server = await serve({ cwd, env: { DATA_DIR: dataDir, TRUSTED_GATEWAYS: "127.0.0.1" } });
  const { page, faults, close } = await openPage(server.url);
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
    expect(faults.filter((each) => !each.includes("403 (Forbidden)"))).toEqual([]);
  } finally {
    await close();
    await server.stop();
    remove();
  }
}, 120_000);
