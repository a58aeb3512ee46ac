import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

const policies = async () => (await opened.call("GET", "assignment-policies")).items;

/** Chooses a root, which a trust store takes. */
async function chooseRoot(name = "Demo Root mail") {
  const { page, call } = opened;
  const [root] = (await call("GET", `certificates?q=${encodeURIComponent(name)}`)).items;
  await page.getByLabel("Search: Certificate").fill(name);
  await page.getByLabel("Certificate", { exact: true }).selectOption(root.id);
}

/** Fills the form of a new policy for Java's trust store. */
async function fillPolicy(name: string, selector: string) {
  const { page, visit } = opened;
  await visit("policies/new");
  await chooseRoot();
  await page.getByLabel("Store", { exact: true }).selectOption("java_cacerts");
  await page.getByLabel("Name of the policy").fill(name);
  await page.getByLabel("Agents with these labels").fill(selector);
  await page.getByLabel("Application").fill("payroll");
  await page.getByLabel("Trust store path").fill("/etc/java/policy-cacerts");
  await page.getByLabel("Alias").fill("policy");
  await page.getByRole("button", { name: "Preview" }).click();
}

test("a policy is previewed, made, seen on its agents, changed by a wider selector, switched off and on", async () => {
  const { page, call, visit, expectSound, expectNoFaults } = opened;
  const [before] = await policies();
  expect(before).toBeUndefined();
  await visit("policies");
  await page.getByText("There are no policies yet.").waitFor();
  await expectSound("policies-empty");
  await fillPolicy(HOSTILE, "tier=db");
  await page.getByText(/^1 agent would get it\./).waitFor();
  await expectSound("policy-preview");
  expect(await policies()).toEqual([]);
  await page.getByRole("button", { name: "Make the policy" }).click();
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  await page.getByText("1 agent has its assignment.").waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  await expectSound("policy");
  await page.getByRole("button", { name: "Change" }).click();
  const change = page.getByRole("dialog", { name: "Change the policy" });
  await change.getByLabel("Agents with these labels").fill("env=prod");
  await change.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/^3 agents would get it\./).waitFor();
  const [{ id, version }] = await policies();
  await call("PATCH", `assignment-policies/${id}`, { name: "theirs" });
  await page.getByRole("button", { name: "Change the policy" }).click();
  const conflict = page.getByRole("dialog", { name: "This was changed meanwhile" });
  await conflict.getByText("theirs", { exact: true }).waitFor();
  await conflict.getByRole("button", { name: "Save mine" }).click();
  await page.getByText("3 agents have its assignment.").waitFor();
  expect(await policies()).toMatchObject([{ name: HOSTILE, selector: "env=prod", version: version + 2 }]);
  await page.getByRole("button", { name: "Switch off" }).click();
  await page
    .getByRole("dialog")
    .getByText(/^The 3 agents|^3 agents/)
    .waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
  await page.locator(".heading .badge", { hasText: "switched off" }).waitFor();
  expect(await policies()).toMatchObject([{ enabled: false }]);
  await page.getByRole("button", { name: "Switch on" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Switch on" }).click();
  await page.getByRole("button", { name: "Switch off" }).waitFor();
  expect(await policies()).toMatchObject([{ enabled: true }]);
  expectNoFaults(412);
  await visit("policies");
  await page.getByRole("link", { name: HOSTILE }).waitFor();
  await expectSound("policies");
});

test("an assignment of a policy leads to it; a policy for a taken place says which agents have something else there", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  const [{ id }] = await policies();
  await visit("deployments?store=java_cacerts");
  await page
    .getByRole("link", { name: /Demo Root mail/ })
    .first()
    .click();
  await page.getByRole("link", { name: "A policy decides what it says: change that" }).click();
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  expect(page.url()).toEndWith(`policies/${id}`);
  await fillPolicy("The same place", "tier=web");
  await page.getByText("On 2 agents something else has the place").waitFor();
  await expectSound("policy-conflicts");
  await page.getByRole("button", { name: "Make the policy" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("is taken").waitFor();
  await page.getByRole("link", { name: "The other policy" }).first().click();
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  expectNoFaults(409);
});

test("a policy with rings is a rollout; while that goes on it is not deleted, and the other one is", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("policies/new");
  await chooseRoot();
  await page.getByLabel("Ring by ring").check();
  await page.getByLabel("Store", { exact: true }).selectOption("pem_ca_bundle");
  await page.getByLabel("Name of the policy").fill("By rings");
  await page.getByLabel("Application").fill("shop");
  await page.getByLabel("Trust store path").fill("/etc/ssl/rings.pem");
  await page.getByLabel("Agents of ring 1").fill("env=prod");
  await expectSound("new-policy");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Make the policy" }).click();
  await page.getByRole("heading", { level: 1, name: "By rings" }).waitFor();
  await page.locator(".heading .badge", { hasText: "rolling out" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("is not completed").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "The rollout that brings it" }).click();
  await page.getByText("Ring 2").waitFor();
  const [{ id }] = await policies();
  await visit(`policies/${id}`);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { level: 1, name: "Policies" }).waitFor();
  expect(await policies()).toMatchObject([{ name: "By rings" }]);
  expectNoFaults(409);
});

test("deployments of the whole fleet: counted, filtered by state, store and labels, and narrowed by links of other pages", async () => {
  const { page, call, visit, expectSound, expectNoFaults } = opened;
  const all = (await call("GET", "deployments?limit=100")).items;
  const count = (shown: unknown[]) => page.getByText(`${shown.length} ${shown.length === 1 ? "row" : "rows"}`, { exact: true }).waitFor();
  await visit("deployments");
  await count(all);
  await expectSound("deployments");
  await page.getByLabel("State", { exact: true }).selectOption("drifted");
  await count(all.filter((each: { state: string }) => each.state === "drifted"));
  await visit("deployments");
  await page.getByLabel("Labels of the agent").fill("tier=db");
  await count(all.filter((each: { agentName: string }) => each.agentName === "db-1"));
  await visit("deployments?store=windows_my_store");
  await page.getByText("Nothing is deployed like this.").waitFor();
  await visit(`deployments?certificateId=${all[0].certificateId}`);
  await count(all.filter((each: { certificateId: string }) => each.certificateId === all[0].certificateId));
  await page.getByRole("button", { name: "Show all" }).click();
  await count(all);
  expectNoFaults();
});

test("signing keys: a new one signs, endorsed by the one before", async () => {
  const { page, call, visit, expectSound } = opened;
  await visit("signing-keys");
  const before = (await call("GET", "signing-keys")).items.length;
  for (let count = before; count < 2; count++) {
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("button", { name: "Make a new key" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText(`${count + 1} ${count === 0 ? "row" : "rows"}`, { exact: true }).waitFor();
  }
  await page.getByText("signs now").waitFor();
  expect(await page.getByText("signs now").count()).toBe(1);
  const [newest] = (await call("GET", "signing-keys")).items;
  expect(newest.endorsement).not.toBeNull();
  await page.getByText(newest.publicKey).waitFor();
  await expectSound("signing-keys");
});
