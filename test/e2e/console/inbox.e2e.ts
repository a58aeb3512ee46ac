import { expect, test } from "bun:test";
import { DEMO, useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=document.title='taken'>";

const opened = useConsole();

const sendExample = (title: string) => opened.call("POST", "/users/me/notifications/examples", { kind: "agent_silent", title });
async function titleSays(start: RegExp) {
  while (!start.test(await opened.page.title())) await Bun.sleep(50);
}

test("a notice comes by itself, is counted in the title and beside the inbox, and is read", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("inbox");
  await page.getByRole("link", { name: "www.certitude.example expires" }).waitFor();
  await page.getByRole("button", { name: "Mark all as read" }).click();
  await titleSays(/^Inbox/);
  await sendExample(HOSTILE);
  const row = page.getByRole("listitem").filter({ hasText: HOSTILE });
  await row.waitFor();
  await titleSays(/^\(1\) Inbox/);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Inbox 1 unread" }).waitFor();
  await expectSound("inbox");
  await row.getByRole("button", { name: "Mark as read" }).click();
  await titleSays(/^Inbox/);
  await page.getByRole("button", { name: "Unread" }).click();
  await page.getByText("You have read everything.").waitFor();
  await expectSound("inbox-read");
  await sendExample("the second one");
  await page.getByText("the second one").waitFor();
  await titleSays(/^\(1\)/);
  expectNoFaults();
});

test("a state is acknowledged, opened again and snoozed until a day, with reasons in the audit trail", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  await visit("inbox");
  const row = page.getByRole("listitem").filter({ hasText: "www.certitude.example expires" });
  const dialog = page.getByRole("dialog");
  await row.getByRole("button", { name: "Acknowledge" }).click();
  await expectSound("inbox-acknowledge");
  await dialog.getByLabel("Reason").fill("It is ordered.");
  await dialog.getByRole("button", { name: "Acknowledge" }).click();
  await row.getByText("acknowledged").waitFor();
  await row.getByRole("button", { name: "Reopen" }).click();
  await dialog.getByRole("button", { name: "Reopen" }).click();
  await row.getByRole("button", { name: "Snooze" }).click();
  await dialog.getByLabel("Until").fill("2020-01-01");
  await dialog.getByRole("button", { name: "Snooze" }).click();
  await dialog.getByText("body.until must be a day in the future (UTC).").waitFor();
  expectNoFaults(400);
  await dialog.getByLabel("Until").fill(new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10));
  await dialog.getByRole("button", { name: "Snooze" }).click();
  await row.getByText("snoozed").waitFor();
  await expectSound("inbox-snoozed");
  const { items } = await call("GET", "audit-events?action=notification.acknowledged");
  expect(items[0].details.reason).toBe("It is ordered.");
});

test("a notice leads to the console's page of what it is about", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("inbox");
  await page.getByRole("link", { name: "www.certitude.example expires" }).click();
  await page.getByRole("heading", { level: 1, name: "www.certitude.example" }).waitFor();
  expect(page.url()).toContain(`#/o/${DEMO}/certificates/`);
  expectNoFaults();
});

test("an API token has no inbox: a sentence, and the session goes on", async () => {
  const { page, visit, call, signIn, expectNoFaults } = opened;
  const { token } = await call("POST", "api-tokens", { name: "reader", role: "ORG_ADMIN" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Organization id").fill(DEMO);
  await signIn(token);
  for (const path of ["inbox", "profile", "notifications"]) {
    await visit(path);
    await page.getByText("This page belongs to a person.").waitFor();
  }
  expectNoFaults();
});
