import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";
const TOKEN = "a-token-that-nobody-may-see";

const opened = useConsole();

test("without connections the page says what to do next, and leads to the kinds", async () => {
  const { page, visit, expectSound } = opened;
  await visit("connections");
  await page.getByText("Nothing is connected yet.").waitFor();
  await page.getByRole("link", { name: "Connect something" }).click();
  await page.getByRole("link", { name: "GitHub" }).waitFor();
  await expectSound("connection-kinds");
});

test("a connection is made with the form of its kind: secrets are hidden, and shown nowhere afterwards", async () => {
  const { page, visit, expectSound } = opened;
  await visit("connections/new");
  await page.getByRole("link", { name: "GitHub" }).click();
  await page.getByRole("heading", { level: 1, name: "Connect GitHub" }).waitFor();
  await page.getByLabel("Name").fill(HOSTILE);
  await page.getByLabel("Owner").fill("example");
  await page.getByLabel("Auth method").selectOption("token");
  const token = page.locator('input[name="secrets.token"]');
  expect(await token.getAttribute("type")).toBe("password");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").getByText("body.secrets.token is required for github where authMethod is token.").waitFor();
  opened.expectNoFaults(400);
  await token.fill(TOKEN);
  await expectSound("connection-new");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  await page.getByText("It was not tested since its settings changed.").waitFor();
  expect(await page.content()).not.toContain(TOKEN);
  expect(await page.locator("main img").count()).toBe(0);
  await expectSound("connection");
});

test("a setting is changed, an empty one is removed, and the secret stays", async () => {
  const { page, call, expectNoFaults } = opened;
  const id = page.url().split("/").at(-1);
  await page.getByLabel("Repository").fill("infrastructure");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. Test it once more.").waitFor();
  expect((await call("GET", `core/connections/${id}`)).config).toMatchObject({ repository: "infrastructure", owner: "example" });
  await page.getByLabel("Repository").fill("");
  const saved = page.waitForResponse((answer) => answer.request().method() === "PATCH" && answer.ok());
  await page.getByRole("button", { name: "Save" }).click();
  await saved;
  const stored = await call("GET", `core/connections/${id}`);
  expect(stored.config.repository).toBeUndefined();
  expect(stored.secretNames).toEqual(["token"]);
  expectNoFaults();
});

test("a test that fails says why, in the list too; then the connection is deleted", async () => {
  const { page, call, visit, photograph, expectSound, expectNoFaults } = opened;
  const made = await call("POST", "core/connections", {
    kind: "vault_pki",
    name: "Vault",
    config: { address: "https://vault.invalid", mountPath: "pki", roleName: "web", authMethod: "token" },
    secrets: { token: TOKEN },
  });
  await visit(`connections/${made.id}`);
  await page.getByRole("button", { name: "Test it" }).click();
  await page.locator(".test-message").waitFor();
  const { lastTest } = await call("GET", `core/connections/${made.id}`);
  expect(lastTest.outcome).toBe("failed");
  expect(await page.locator(".test-message").textContent()).toBe(lastTest.message);
  expect(await photograph("connection-tested")).toEqual([]);
  await visit("connections");
  await page.getByRole("row", { name: /Vault/ }).getByText("failed").waitFor();
  await expectSound("connections");
  await visit(`connections/${made.id}`);
  await page.getByRole("button", { name: "Delete Vault" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Vault was deleted, with its secrets.").waitFor();
  expectNoFaults();
});
