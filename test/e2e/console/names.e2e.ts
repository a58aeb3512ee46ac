import { expect, test } from "bun:test";
import { DEMO, USER, useConsole } from "../../support/browser/console";
import { run } from "../../support/server/executable";
import { sign } from "../../support/server/people";

const opened = useConsole();
const CONTROLS = "ai-governance/frameworks/euaiact/controls";

/** Waits until the members are known: then they are choices. */
const knowMembers = () => opened.page.getByLabel("Owner").locator("option").nth(2).waitFor({ state: "attached" });

test("a control that nobody owns has no owner, also when a member is invited who is no user yet", async () => {
  const { page, visit, call, expectNoFaults } = opened;
  await call("POST", "members", { email: "invited@certitude.example" });
  await visit("governance/euaiact?owner=none");
  await knowMembers();
  const owners = await page.locator("main tbody tr td:nth-child(4)").allTextContents();
  expect(owners.length).toBeGreaterThan(0);
  expect([...new Set(owners)]).toEqual(["—"]);
  expectNoFaults();
});

test("a change by a user who is no member any more names the user", async () => {
  const { page, url, visit, call, expectNoFaults } = opened;
  const [user, email] = [crypto.randomUUID(), "former@certitude.example"];
  const { id: member, invitation } = await call("POST", "members", { email, role: "ORG_ADMIN" });
  const headers = {
    authorization: `Bearer ${await sign({ sub: user, email, email_verified: true })}`,
    "content-type": "application/json",
    "x-organization-id": DEMO,
    "x-organization-role": "ORG_ADMIN",
  };
  const send = (method: string, path: string, body: object) => fetch(`${url}/${path}`, { method, headers, body: JSON.stringify(body) });
  expect((await send("POST", "invitations/accept", { token: invitation.url.split("#").at(-1) })).status).toBe(200);
  const [control] = (await call("GET", CONTROLS)).items;
  expect((await send("PATCH", `organizations/${DEMO}/${CONTROLS}/${control.id}`, { status: "in_progress", note: "Begun." })).status).toBe(200);
  await call("DELETE", `members/${member}`);
  await visit(`governance/euaiact/${control.id}`);
  await page.locator(".history").getByText(user).first().waitFor();
  expectNoFaults();
});

test("members that arrive when another organization is shown are not taken for its own", async () => {
  const { page, visit, program, expectNoFaults } = opened;
  const options = ["--name", "Other Ltd", "--admin-user", USER, "--admin-email", "demo@certitude.example"];
  const { stdout: other } = await run(program, "admin", "create-organization", ...options);
  const held = Promise.withResolvers<void>();
  const members = `**/organizations/${DEMO}/members*`;
  await page.route(members, async (route) => {
    await held.promise;
    await route.fallback();
  });
  await visit("certificates");
  await visit("certificates", other);
  await knowMembers();
  const late = page.waitForResponse(members);
  held.resolve();
  await (await late).finished();
  await visit("certificates", other);
  expect(await page.getByLabel("Owner").locator("option").count()).toBe(3);
  await page.unroute(members);
  expectNoFaults();
});
