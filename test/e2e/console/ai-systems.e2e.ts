import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const opened = useConsole();

test("the systems are listed, and an ingest key is made, shown once, and deleted", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("ai-systems");
  await page.getByRole("link", { name: "support-bot" }).waitFor();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("What it is for").fill("Night collector");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByText(/^whsec_/).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  expect(await page.content()).not.toContain("whsec_");
  await expectSound("ai-systems");
  await page.getByRole("button", { name: "Delete Night collector" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Night collector is refused from now on.").waitFor();
  expectNoFaults();
});

test("a system's metrics are charted over the chosen time, with the limits that are set, changed and removed", async () => {
  const { page, call, visit, expectSound, expectNoFaults } = opened;
  await visit("ai-systems/support-bot");
  await page.getByRole("img", { name: "latency_p95 in ms" }).waitFor();
  await page.getByRole("img", { name: "error_rate" }).waitFor();
  await page.getByRole("button", { name: "Set limits" }).click();
  await page.getByLabel("Metric").last().fill("error_rate");
  await page.getByLabel("At most").fill("0.5");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/dashed: at most 0.5/).waitFor();
  await expectSound("ai-system");
  await page.getByLabel("Time").selectOption("6h");
  await page
    .getByText(/from .* to/)
    .first()
    .waitFor();
  expect(page.url()).toContain("range=6h");
  await page.getByRole("button", { name: "Limits of error_rate" }).click();
  await page.getByLabel("At least").fill("0.001");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/dashed: at least 0.001/).waitFor();
  expect((await call("GET", "ai-governance/metric-thresholds")).items).toMatchObject([{ metric: "error_rate", min: 0.001, max: 0.5 }]);
  await page.getByRole("button", { name: "Limits of error_rate" }).click();
  await page.getByLabel("At least").fill("");
  await page.getByLabel("At most").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/dashed: at/).waitFor({ state: "detached" });
  expect((await call("GET", "ai-governance/metric-thresholds")).items).toEqual([]);
  expectNoFaults();
});

test("a metric is shown by its name in the address, and one without samples says so", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("ai-systems/support-bot?metric=error_rate");
  await page.getByRole("img", { name: "error_rate" }).waitFor();
  await visit("ai-systems/support-bot?metric=nothing_like_it");
  await page.getByText("No samples.").waitFor();
  expectNoFaults();
});
