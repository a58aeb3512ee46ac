import { expect, test } from "bun:test";
import { USER, useConsole } from "../../support/browser/console";
import { sign } from "../../support/server/people";

const TEN_MB = 10_000_000;
/** Seconds that the server gives a token after its end. */
const SKEW_S = 30;
const opened = useConsole({}, { isSignedIn: false });

/** Pastes a text into the field that has the focus, without typing it. */
const paste = (text: string) => opened.page.evaluate(`document.execCommand("insertText", false, ${JSON.stringify(text)})`);

test("a token that was copied badly: spaces, line breaks and Bearer are left out; a part of one, and what is none, get a sentence", async () => {
  const { page, expectNoFaults, signIn } = opened;
  const token = await sign({ sub: USER });
  const field = page.getByLabel("Token", { exact: true });
  for (const [text, sentence] of [
    [token.slice(0, -3), "This token ends in the middle."],
    [token.slice(0, token.lastIndexOf(".") - 5), "This token ends in the middle."],
    [token.slice(0, 20), "This token ends in the middle."],
    [`${token.slice(0, 20)}…`, "No token has “…” in it."],
    ["x".repeat(20_000), "This text has 20,000 characters"],
  ] as const) {
    await field.fill(text);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText(sentence).waitFor();
  }
  expectNoFaults();
  await signIn(`  Bearer ${token.slice(0, 40)}\n ${token.slice(40)} `);
  expectNoFaults();
});

test("10 MB pasted into a field: the API's sentence, and the page goes on", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Certificates", { exact: true }).fill("-".repeat(TEN_MB));
  await dialog.getByRole("button", { name: "Import" }).click();
  expect(await dialog.getByRole("alert").textContent()).toContain("The body is larger than");
  await page.keyboard.press("Escape");
  expectNoFaults(413);
  await page.getByLabel("Search", { exact: true }).focus();
  await paste("z".repeat(TEN_MB));
  await page.getByRole("alert").getByText("query.q").waitFor();
  await page.getByLabel("Search", { exact: true }).fill("");
  await page.getByRole("table", { name: "Certificates" }).waitFor();
  expectNoFaults(400);
});

test("a token that ends while a form is open: the person signs in again, and what was typed is saved", async () => {
  const { page, url, call, visit, signIn, expectNoFaults, findBarriers } = opened;
  const token = await sign({ sub: USER, exp: Math.floor(Date.now() / 1_000) - SKEW_S + 8 });
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn(token);
  await visit("profile");
  await page.getByLabel("Short name").fill("Typed before the end");
  while ((await fetch(`${url}/users/me`, { headers: { authorization: `Bearer ${token}` } })).ok) await Bun.sleep(500);
  await page.getByRole("button", { name: "Save" }).dispatchEvent("click"); // also where the inbox's stream has told of the end already
  const again = page.getByRole("dialog", { name: "Sign in again" });
  await again.getByText("Your session has ended.").waitFor();
  expect(await findBarriers()).toEqual([]);
  expectNoFaults(401);
  await again.getByLabel("Token", { exact: true }).fill(await sign({ sub: USER }));
  await again.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Your name is saved.").waitFor();
  expect(await page.getByLabel("Short name").inputValue()).toBe("Typed before the end");
  expect((await call("GET", "/users/me")).displayName).toBe("Typed before the end");
  expectNoFaults();
});

test("a clock that is a day behind: the page says so, and counts by the server's", async () => {
  const { page, call, visit, expectNoFaults } = opened;
  const { items } = await call("GET", "certificates?q=www.certitude.example");
  await visit(`certificates/${items[0].id}`);
  const left = await page.locator(".heading .badge").textContent();
  await page.clock.setSystemTime(Date.now() - 86_400_000);
  await page.reload();
  await page.getByText("The clock of this computer is 1 day behind the server's.").waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  expect(left).toMatch(/left$/);
  expect(await page.locator(".heading .badge").textContent()).toBe(left);
  expectNoFaults();
});
