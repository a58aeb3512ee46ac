import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

test("frameworks show how far they are, and lead to their controls", async () => {
  const { page, visit, expectSound } = opened;
  await visit("governance");
  await page.getByText("Not started").first().waitFor();
  expect(await page.locator(".ring").count()).toBe(3);
  await expectSound("governance");
  await page.locator(".card .button").first().click();
  await page.getByRole("table", { name: "Controls" }).waitFor();
  await expectSound("controls");
});

test("controls are filtered by status and text, in the address", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("governance/euaiact");
  await page.getByLabel("Status").selectOption("implemented");
  await page.getByText("2 rows").waitFor();
  expect(page.url()).toContain("status=implemented");
  await page.getByLabel("Search").fill("no such control anywhere");
  await page.getByText("No control matches.").waitFor();
  await page.getByRole("link", { name: "Clear the filters" }).click();
  await page.getByRole("table", { name: "Controls" }).waitFor();
  expectNoFaults();
});

test("a control is changed, gets evidence and loses it, and its changes say so", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("governance/euaiact?status=in_progress");
  await page.locator(".row-link").first().click();
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Note").fill(HOSTILE);
  await page.getByLabel("Due").fill("2031-05-06");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("due 2031-05-06").waitFor();
  await page.getByRole("button", { name: "Add evidence" }).click();
  await page.getByLabel("Title").fill(HOSTILE);
  await page.getByRole("textbox", { name: "Address" }).fill("https://wiki.certitude.example/oversight");
  await expectSound("control-evidence");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("1 evidence added").waitFor();
  await expectSound("control");
  await page.getByRole("button", { name: `Remove ${HOSTILE}` }).click();
  await page.getByText("1 evidence removed").waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expectNoFaults();
});

test("a certificate becomes evidence by its name, and one that is not there is refused with a sentence", async () => {
  const { page, call, expectNoFaults } = opened;
  const [certificate] = (await call("GET", "certificates?status=active")).items;
  await page.getByRole("button", { name: "Add evidence" }).click();
  await page.getByLabel("Title").fill("Signing root");
  await page.getByLabel("Or a certificate").fill("nobody.certitude.example");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText('No certificate is called "nobody.certitude.example".').waitFor();
  await page.getByLabel("Or a certificate").fill(certificate.id);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("certificate active").waitFor();
  expectNoFaults();
});

test("a control that was changed meanwhile: 412, both versions, and the choice", async () => {
  const { page, call, expectNoFaults } = opened;
  const id = page.url().split("/").at(-1);
  const path = `ai-governance/frameworks/euaiact/controls/${id}`;
  await call("PATCH", path, { status: "in_progress", note: "The auditor was here." });
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Note").fill("My own note.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("This was changed meanwhile").waitFor();
  await page.getByRole("cell", { name: "The auditor was here." }).waitFor();
  await page.getByRole("button", { name: "Save mine" }).click();
  await page.getByRole("dialog").first().waitFor({ state: "detached" });
  expect((await call("GET", path)).note).toBe("My own note.");
  expectNoFaults(412);
});
