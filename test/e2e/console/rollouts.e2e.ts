import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const opened = useConsole();

test("a rollout is started, moves as an agent reports, and is halted, resumed and rolled back", async () => {
  const { page, visit, call, url, expectSound } = opened;
  const { id, token } = await call("POST", "agents", { name: "canary-1", labels: { env: "canary" } });
  const root = (await call("GET", "certificates?limit=100&q=Demo%20Root")).items.find(
    (each: { isCa: boolean; status: string }) => each.isCa && each.status === "active",
  );
  await visit("rollouts/new");
  await page.getByLabel("Search: Certificate").fill("Demo Root");
  await page.getByLabel("Certificate", { exact: true }).selectOption(root.id);
  await page.getByLabel("Store", { exact: true }).selectOption("pem_ca_bundle");
  await page.getByLabel("Name of the rollout").fill("Canaries first");
  await page.getByLabel("Application").fill("shop");
  await page.getByLabel("Trust store path").fill("/etc/ssl/shop.pem");
  await page.getByLabel("Agents of ring 2").fill("tier=web");
  await page.getByLabel("Part in %").nth(1).fill("200");
  await page.getByRole("button", { name: "Start the rollout" }).click();
  await page.getByText("Ring 2: its part must be more than 0 and at most 100 %.").waitFor();
  await page.getByLabel("Part in %").nth(1).fill("50");
  await expectSound("new-rollout");
  await page.getByRole("button", { name: "Start the rollout" }).click();
  await page.getByText("1 agent: 0 have it, 0 failed, 1 pending").waitFor();
  const [{ id: assignmentId }] = (await call("GET", `agents/${id}/assignments`)).items;
  const reports = [{ assignmentId, state: "installed", observedFingerprint: root.fingerprintSha256 }];
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  await fetch(`${url}/agent/reports`, { method: "POST", headers, body: JSON.stringify({ reports }) });
  await page.getByText("1 agent: 1 have it, 0 failed, 0 pending").waitFor();
  await expectSound("rollout");
  await page.emulateMedia({ reducedMotion: "reduce" });
  expect(await page.evaluate("getComputedStyle(document.querySelector('.ring-bar .bar')).transitionDuration")).toBe("0s");
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.getByRole("button", { name: "Halt" }).click();
  await page.getByText("Halted: no ring opens").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByText("It goes on.").waitFor();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("rolling back").first().waitFor();
  await visit("rollouts");
  await page.getByRole("link", { name: "Canaries first" }).waitFor();
  await expectSound("rollouts");
});

test("a rollout that halts by itself says why, and is resumed", async () => {
  const { page, visit, call, url, expectSound, expectNoFaults } = opened;
  const { id: agentId, token } = await call("POST", "agents", { name: "fragile-1", labels: { env: "fragile" } });
  const root = (await call("GET", "certificates?limit=100&q=Demo%20Root%20vpn")).items.find((each: { isCa: boolean }) => each.isCa);
  const assignment = { applicationId: "shop", certificateId: root.id, trustStoreType: "pem_ca_bundle", config: { trustStorePath: "/etc/ssl/fragile.pem" } };
  const { id } = await call("POST", "rollouts", { name: "Too hasty", assignment, rings: [{ selector: "env=fragile", share: 1 }, { share: 1 }] });
  await visit(`rollouts/${id}`);
  await page.getByText("1 agent: 0 have it, 0 failed, 1 pending").waitFor();
  const [{ id: assignmentId }] = (await call("GET", `agents/${agentId}/assignments`)).items;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const reports = [{ assignmentId, state: "failed", message: "The disk is full." }];
  await fetch(`${url}/agent/reports`, { method: "POST", headers, body: JSON.stringify({ reports }) });
  await page.locator(".heading .badge", { hasText: "halted" }).waitFor({ timeout: 0 }); // a job looks once a minute
  const { reason } = await call("GET", `rollouts/${id}`);
  await page.locator(".fault", { hasText: reason }).waitFor();
  await expectSound("rollout-halted");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("dialog").getByLabel("Halts at this share").fill("1");
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByText("It goes on.").waitFor();
  expect(await call("GET", `rollouts/${id}`)).toMatchObject({ haltShare: 1, status: "running" });
  expectNoFaults();
});
