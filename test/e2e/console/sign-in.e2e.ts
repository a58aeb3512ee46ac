import { expect, test } from "bun:test";
import { DEMO, useConsole } from "../../support/browser/console";

const STRANGE = "0193b3c0-0000-7000-8000-00000000ffff";

const opened = useConsole({}, { isSignedIn: false });

test("a token that the server does not know: 401, and a sentence in the form", async () => {
  const { page, expectSound, expectNoFaults } = opened;
  await page.getByLabel("Token", { exact: true }).fill("not.a.token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The server does not accept this token").waitFor();
  expectNoFaults(401);
  await expectSound("sign-in");
});

test("a user token signs in, to the demo's certificates, and is in no address", async () => {
  const { page, signIn, visit, expectSound } = opened;
  await signIn();
  await visit("certificates");
  expect(await page.locator(".row-link").count()).toBeGreaterThan(5);
  expect(page.url()).not.toContain("eyJ");
  await expectSound("certificates");
});

test("one certificate has its chain, and keys lead there and back", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("table", { name: "Certificates" }).focus();
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate("document.activeElement.textContent");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: String(name) }).waitFor();
  await page.locator(".chain .current").waitFor();
  expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  await expectSound("certificate");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Certificates" }).waitFor();
  expectNoFaults();
});

test("an organization that is another's: the API's own sentence", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("certificates", STRANGE);
  await page.getByText("You have no access to this organization.").waitFor();
  expectNoFaults(403);
  await visit(`certificates/${STRANGE}`, DEMO);
  await page.getByText("There is no such certificate").waitFor();
  expectNoFaults(404);
});

test("a session that has ended: sign in again, and go on at the same page", async () => {
  const { page, visit, signIn, expectNoFaults } = opened;
  await visit("certificates?status=expired");
  await page.evaluate(`sessionStorage.setItem("certitude-session", sessionStorage.getItem("certitude-session").replace(/"token":"[^"]*"/, '"token":"ended"'))`);
  await page.reload();
  await page.getByText("Your session has ended.").waitFor();
  await signIn();
  await page.getByRole("heading", { level: 1, name: "Certificates" }).waitFor();
  expect(page.url()).toContain("status=expired");
  expectNoFaults(401); // of each read that was under way
});

test("without JavaScript there is a sentence, and no page asks for anything outside", async () => {
  const { page, url } = opened;
  const context = await page.context().browser()?.newContext({ javaScriptEnabled: false });
  const bare = await context?.newPage();
  await bare?.goto(`${url}/`);
  expect(bare?.url()).toBe(`${url}/console/`);
  expect(await bare?.locator("body").textContent()).toContain("The console needs JavaScript.");
  await context?.close();
});
