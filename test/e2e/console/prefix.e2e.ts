import { afterAll, beforeAll, expect, test } from "bun:test";
import { openBrowser } from "../../support/browser/browser";
import { DEMO, USER, useConsole } from "../../support/browser/console";
import { sign } from "../../support/server/people";
import { startReverseProxy } from "../../support/server/reverse-proxy";

const direct = useConsole({}, { isSignedIn: false });
let proxy: Awaited<ReturnType<typeof startReverseProxy<"slash">>>;
/** What this browser asks for outside the prefix is a fault. */
let opened: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  proxy = await startReverseProxy(direct.url, { slash: "proxy_pass http://$app/;" }, "/certs/");
  opened = await openBrowser(proxy.urls.slash);
});
afterAll(async () => {
  await opened.close();
  await proxy.stop();
});

test("behind nginx with `location /certs/ { proxy_pass …/; }` the console signs in, reads, writes and follows the inbox's stream", async () => {
  const { page, faults } = opened;
  const base = proxy.urls.slash;
  await page.goto(`${base}/`);
  expect(page.url()).toBe(`${base}/console/`);
  await page.getByLabel("Token", { exact: true }).fill(await sign({ sub: USER }));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  expect(await page.locator(".failure").count()).toBe(0);
  await page.goto(`${base}/console/#/o/${DEMO}/profile`);
  await page.getByLabel("Short name").fill("Behind nginx");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Your name is saved.").waitFor();
  await page.goto(`${base}/console/#/o/${DEMO}/inbox`);
  await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
  await direct.call("POST", "/users/me/notifications/examples", { title: "Through the proxy" });
  await page.getByText("Through the proxy").waitFor();
  await page.goto(`${base}/console/#/o/${DEMO}/join`);
  await page.getByRole("button", { name: "Make a join token" }).click();
  expect(await page.locator(".line-to-paste").textContent()).toStartWith(`certitude agent join --server ${base} --token `);
  expect(faults.splice(0)).toEqual([]);
});

test("there the one-time link, the link of an invitation and the page of the API's operations work too", async () => {
  const { page, faults } = opened;
  const base = proxy.urls.slash;
  const link = direct.server.printed.find((line) => line.includes("/console/#/enter/"))?.trim() ?? "";
  await page.evaluate("sessionStorage.clear()");
  await page.goto("about:blank");
  await page.goto(link.replace(direct.url, base));
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.goto("about:blank");
  await page.goto(`${base}/invitations/accept#cit_nobodys`);
  await page.getByRole("heading", { level: 1, name: "You are invited" }).waitFor();
  expect(page.url()).toBe(`${base}/console/#/invitation`);

  await page.goto(`${base}/swagger`);
  await page.locator("#caller [name=token]").fill(await sign({ sub: USER }));
  await page.locator("#caller button:not([type=reset])").click();
  await page.locator("#said", { hasText: "Calls are made as this" }).waitFor();
  await page.goto("about:blank");
  await page.goto(`${base}/swagger#/User/getMe`);
  const me = page.locator("#operations-User-getMe");
  await me.locator("button.execute").click();
  await me.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  expect(await me.locator(".request-url").textContent()).toContain(`${base}/users/me`);
  expect(faults.splice(0)).toEqual([]);
});
