import { expect, test } from "bun:test";
import { DEMO, useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=document.title='taken'>";

const opened = useConsole();

/** Fills the fields of the dialog that is open, and presses its last button. */
async function fillDialog(button: string, values: Record<string, string> = {}, choices: Record<string, string> = {}) {
  const dialog = opened.page.getByRole("dialog").last();
  for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label).fill(value);
  for (const [label, value] of Object.entries(choices)) await dialog.getByLabel(label).selectOption(value);
  await dialog.getByRole("button", { name: button, exact: true }).click();
}

test("a member is invited, the link is shown once, the invitation is withdrawn", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("members");
  await page.getByText("seats taken").waitFor();
  await expectSound("members");
  await page.getByRole("button", { name: "Invite a member" }).click();
  await expectSound("members-invite");
  await fillDialog("Invite", { "E-mail": "eve@certitude.example", "First name": HOSTILE });
  const invitation = page.getByRole("dialog", { name: "The invitation is ready" });
  await invitation.waitFor();
  expect(await invitation.locator("code").textContent()).toContain("#");
  await expectSound("members-invited");
  await invitation.getByRole("button", { name: "Done" }).click();
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("button", { name: "Withdraw: eve@certitude.example" }).click();
  await fillDialog("Withdraw");
  await page.getByText(HOSTILE).waitFor({ state: "detached" });
  expectNoFaults();
});

test("the last administrator's role: 409, and the dialog says so", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("members");
  await page.getByRole("button", { name: "Change role: demo@certitude.example" }).click();
  await fillDialog("Change the role", {}, { Role: "ORG_MEMBER" });
  await page.getByRole("dialog").getByRole("alert").waitFor();
  expectNoFaults(409);
  await page.getByRole("button", { name: "Cancel" }).click();
});

test("an API token is shown once and copied, works, and is revoked", async () => {
  const { page, visit, url, expectSound, expectNoFaults } = opened;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await visit("api-tokens");
  await expectSound("api-tokens-none");
  await page.getByRole("button", { name: "Make a token" }).click();
  await fillDialog("Make the token", { Name: HOSTILE, Ends: "2030-01-15T12:00" });
  await page.getByRole("button", { name: "Copy the token" }).click();
  await page.getByText("Copied.").waitFor();
  const token = String(await page.evaluate("navigator.clipboard.readText()"));
  expect(token).toStartWith("cat_");
  const headers = { authorization: `Bearer ${token}`, "x-organization-id": DEMO, "x-organization-role": "ORG_MEMBER" };
  const ask = async () => (await fetch(`${url}/organizations/${DEMO}/certificates`, { headers })).status;
  expect(await ask()).toBe(200);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("table", { name: "API tokens" }).getByText(HOSTILE).waitFor();
  await expectSound("api-tokens");
  await page.getByRole("button", { name: `Revoke: ${HOSTILE}` }).click();
  await fillDialog("Revoke");
  await page.getByText("There are no API tokens.").waitFor();
  expect(await ask()).toBe(401);
  expectNoFaults();
});

test("the audit trail: filters in the address, details, and an export of all pages with formulas made harmless", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("audit?action=api-token.created");
  await page.getByRole("button", { name: "api-token.created" }).click();
  const details = page.getByRole("dialog", { name: "api-token.created" });
  expect(await details.locator("pre").textContent()).toContain(HOSTILE);
  await expectSound("audit-details");
  await details.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Action").fill("no.such-action");
  await page.getByText("No event matches.").waitFor();
  expect(page.url()).toContain("action=no.such-action");
  await page.getByRole("link", { name: "Clear the filters" }).click();
  await page.getByRole("table", { name: "Audit events" }).waitFor();
  await expectSound("audit");
  await page.getByRole("button", { name: "Export" }).click();
  await expectSound("audit-export");
  const [download] = await Promise.all([page.waitForEvent("download"), fillDialog("Export", {}, { Format: "jsonl" })]);
  expect(download.suggestedFilename()).toMatch(/^audit-\d{4}-\d\d-\d\d\.jsonl$/);
  const lines = (await Bun.file(await download.path()).text()).trimEnd().split("\n");
  const ids = new Set(lines.map((line) => JSON.parse(line).id));
  expect(ids.size).toBe(lines.length);
  expect(lines.length).toBeGreaterThan(100);
  expectNoFaults();
});

test("a person's own name: changed in two tabs, both versions are shown", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("profile");
  await expectSound("profile");
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.evaluate(`sessionStorage.setItem("certitude-session", ${JSON.stringify(await page.evaluate(`sessionStorage.getItem("certitude-session")`))})`);
  await other.reload();
  await other.getByLabel("Short name").fill("Theirs");
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText("Your name is saved.").waitFor();
  await other.close();
  await page.getByLabel("Short name").fill(HOSTILE);
  await page.getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("dialog", { name: "This was changed meanwhile" });
  await conflict.waitFor();
  expect(await conflict.getByRole("row").allTextContents()).toContain(`Display name${HOSTILE}Theirs`);
  expectNoFaults(412);
  await expectSound("conflict");
  await conflict.getByRole("button", { name: "Save mine" }).click();
  await page.getByRole("link", { name: HOSTILE }).waitFor();
  expectNoFaults();
});

test("signing out ends the token at the server too", async () => {
  const { page, visit, url, expectNoFaults } = opened;
  await visit("profile");
  const { token } = JSON.parse(String(await page.evaluate(`sessionStorage.getItem("certitude-session")`)));
  await page.locator("main").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect((await fetch(`${url}/users/me`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  expectNoFaults();
});
