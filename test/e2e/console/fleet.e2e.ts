import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

const agentNamed = async (name: string) => (await opened.call("GET", "agents?limit=100")).items.find((each: { name: string }) => each.name === name);

test("agents: the fleet's health, and a filter by labels that stays in the address", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await opened.call("POST", "agents", { name: HOSTILE, labels: { env: "hostile" } });
  await visit("agents");
  await page.getByRole("link", { name: HOSTILE }).waitFor();
  await expectSound("agents");
  await page.getByLabel("Labels", { exact: true }).fill("tier=db");
  await page.getByText("1 row", { exact: true }).waitFor();
  expect(page.url()).toContain("selector=tier%3Ddb");
  expect(await page.locator(".row-link").allInnerTexts()).toEqual(["db-1"]);
  expectNoFaults();
});

test("labels of many agents: the preview says how many, then they change", async () => {
  const { page, visit, expectSound } = opened;
  await visit("agents");
  await page.getByRole("button", { name: "Change labels" }).click();
  await page.getByLabel("Agents with all of these labels").fill("env=prod");
  await page.getByLabel("Labels to set").fill("site=zurich");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("3 agents have these labels, and 3 would change.").waitFor();
  await expectSound("bulk-labels");
  await page.getByRole("button", { name: "Change 3" }).click();
  await page.getByText("Changed the labels of 3 agents.").waitFor();
  expect((await agentNamed("web-1")).labels).toMatchObject({ site: "zurich" });
});

test("one agent: its assignments, drift and stores; its labels and its name are changed", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  const { id } = await agentNamed("db-1");
  await visit(`agents/${id}`);
  await page.getByText("not as wanted").first().waitFor();
  await expectSound("agent");
  await page.getByRole("button", { name: "Edit labels" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("env=prod\ntier=cache");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The labels are changed.").waitFor();
  expect((await agentNamed("db-1")).labels).toEqual({ env: "prod", tier: "cache" });
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("cache-1");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { level: 1, name: "cache-1" }).waitFor();
  expect((await agentNamed("cache-1")).id).toBe(id);
  expectNoFaults();
});

test("another tab renamed the agent: both versions are shown, and mine is written over theirs", async () => {
  const { page, visit, expectNoFaults } = opened;
  const { id } = await agentNamed("staging-1");
  await visit(`agents/${id}`);
  await page.getByRole("button", { name: "Rename" }).click();
  await opened.call("PATCH", `agents/${id}`, { name: "staging-theirs" });
  await page.getByRole("dialog").getByLabel("Name").fill("staging-mine");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByRole("cell", { name: "staging-theirs" }).waitFor();
  await page.getByRole("button", { name: "Save mine" }).click();
  await page.getByRole("heading", { level: 1, name: "staging-mine" }).waitFor();
  expect((await agentNamed("staging-mine")).id).toBe(id);
  expectNoFaults(412);
});

test("a certificate is assigned by a form of the store's own fields, changed, switched off and removed", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  const { id } = await agentNamed("web-1");
  await visit(`agents/${id}/assign`);
  await page.getByLabel("Certificate", { exact: true }).selectOption({ index: 1 });
  await page.getByLabel("Store", { exact: true }).selectOption("nginx_tls");
  await page.getByLabel("Application").fill("shop");
  await page.getByLabel("Trust store path").fill("/etc/nginx/tls/shop");
  await page.getByLabel("Reload command").fill("nginx\n-s\nreload");
  await expectSound("assign");
  await page.getByRole("button", { name: "Assign" }).click();
  await page.getByRole("heading", { name: "Config of the store" }).waitFor();
  await page.getByText("The agent has not reported it yet.").waitFor();
  await expectSound("assignment");
  const assignmentId = page.url().split("/").at(-1);
  const read = () => opened.call("GET", `agents/${id}/assignments/${assignmentId}`);
  expect(await read()).toMatchObject({ applicationId: "shop", materialType: "server_certificate", config: { reloadCommand: ["nginx", "-s", "reload"] } });
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Cert file name").fill("");
  await page.getByLabel("Key file name").fill("shop.key");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: the agent follows at its next pass.").waitFor();
  expect((await read()).config).toMatchObject({ certFileName: "tls.crt", keyFileName: "shop.key" });
  await page.getByRole("button", { name: "Switch off" }).click();
  await page.getByRole("button", { name: "Switch on" }).waitFor();
  expect((await read()).enabled).toBe(false);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByLabel("Why it is deleted").fill("The host was scrapped.");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("heading", { level: 1, name: "web-1" }).waitFor();
  expectNoFaults();
});

test("joining: the line is shown once, and its token lets a host in until it is deleted", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("join");
  await page.getByLabel("Labels of the new agents").fill("env=new");
  await page.getByRole("button", { name: "Make a join token" }).click();
  const line = await page.locator(".line-to-paste").textContent();
  expect(line).toMatch(new RegExp(`^certitude agent join --server ${opened.url} --token caj_[\\w-]{43}$`));
  await expectSound("join");
  await page.getByRole("button", { name: "Done" }).click();
  expect(await page.locator("body").textContent()).not.toContain("caj_");
  await page.getByRole("button", { name: "Delete the join token" }).click();
  await page.getByText("There are no join tokens.").waitFor();
  expectNoFaults();
});

test("credentials are replaced by a line for this agent; then it is deleted", async () => {
  const { page, visit, expectNoFaults } = opened;
  const { id } = await agentNamed(HOSTILE);
  await visit(`agents/${id}`);
  await page.getByRole("button", { name: "Replace" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
  await page.locator(".line-to-paste").waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  expect((await agentNamed(HOSTILE)).accessEndsAt).not.toBeNull();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  expect(await agentNamed(HOSTILE)).toBeUndefined();
  expectNoFaults();
});
