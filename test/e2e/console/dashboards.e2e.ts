import { expect, test } from "bun:test";
import { DEMO, useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";
type Widget = { id: string; kind: string; title: string; settings: Record<string, unknown>; position: { x: number; y: number; width: number; height: number } };

const opened = useConsole();

const widgets = async (): Promise<Widget[]> => (await opened.call("GET", "core/widgets?limit=100")).items;
const named = async (title: string) => (await widgets()).find((each) => each.title === title);

test("all twelve kinds show what they have, with a hostile title as text", async () => {
  const { page, call, visit, expectSound } = opened;
  const present = new Set((await widgets()).map(({ kind }) => kind));
  const kinds: { kind: string; displayName: string }[] = (await call("GET", "core/widget-kinds")).items;
  expect(kinds).toHaveLength(12);
  for (const { kind, displayName } of kinds.filter((each) => !present.has(each.kind))) {
    const settings = kind === "control_status_trend" ? { frameworkKey: "euaiact" } : {};
    await call("POST", "core/widgets", { kind, title: kind === "notification_feed" ? HOSTILE : displayName, settings });
  }
  await visit("dashboards");
  await page.getByRole("heading", { level: 2, name: HOSTILE }).waitFor();
  await page.waitForFunction(`document.querySelectorAll(".widget-body").length === 12 && !document.querySelector(".widget-body .loading")`);
  expect(await page.locator(".widget-body .failure").count()).toBe(0);
  expect(await page.locator("main img").count()).toBe(0);
  await expectSound("dashboard");
});

test("a widget is added to a dashboard of its own, changed and removed", async () => {
  const { page, visit, findBarriers, expectNoFaults } = opened;
  await visit("dashboards");
  await page.getByRole("button", { name: "Add a widget" }).click();
  await page.getByLabel("What it shows").selectOption("top_expiring_certificates");
  await page.getByLabel("Title").fill("Next ones");
  await page.getByLabel("Dashboard", { exact: true }).last().fill("night watch");
  expect(await findBarriers()).toEqual([]);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByLabel("Dashboard", { exact: true }).selectOption("night watch");
  await page.getByRole("heading", { level: 2, name: "Next ones" }).waitFor();
  await page.getByRole("button", { name: "Arrange" }).click();
  await page.getByRole("button", { name: "Change Next ones" }).click();
  await page.getByRole("dialog").getByLabel("Limit").fill("3");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await named("Next ones"))?.settings.limit).toBe(3);
  await page.getByRole("button", { name: "Remove Next ones" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("Nothing is shown here yet.").waitFor();
  expect(await named("Next ones")).toBeUndefined();
  await page.getByRole("button", { name: "Done" }).click();
  expectNoFaults();
});

test("a widget is moved and sized by keys: Escape takes it back, Enter keeps it, a taken place is refused with a sentence", async () => {
  const { page, visit, photograph, expectNoFaults } = opened;
  await visit("dashboards");
  const before = (await named("What expires"))?.position;
  await page.getByRole("button", { name: "Arrange" }).click();
  await page.getByRole("button", { name: "Size What expires" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator(".widget.moving").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".widget.moving").waitFor({ state: "detached" });
  expect((await named("What expires"))?.position).toEqual(before);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.getByText(/What expires: column 1, row 1, 7 wide, 4 high/).waitFor();
  expect((await named("What expires"))?.position).toEqual({ x: 0, y: 0, width: 7, height: 4 });
  await page.getByRole("button", { name: "Move What expires", exact: true }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByText(/overlaps the widget "Agents"/).waitFor();
  expect((await named("What expires"))?.position.x).toBe(0);
  expect(await photograph("dashboard-arranging")).toEqual([]);
  await page.getByRole("button", { name: "Done" }).click();
  expectNoFaults(400);
});

test("a widget is dragged by its handle", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("dashboards");
  await page.getByRole("button", { name: "Arrange" }).click();
  const handle = page.getByRole("button", { name: "Move What expires", exact: true });
  const from = await handle.boundingBox();
  if (!from) throw new Error("The handle is not shown.");
  const column = ((await page.locator(".dashboard").boundingBox())?.width ?? 0) / 12;
  await page.mouse.move(from.x + 5, from.y + 5);
  await page.mouse.down();
  await page.mouse.move(from.x + 5 + column, from.y + 5, { steps: 4 });
  await page.mouse.up();
  await page.getByText(/What expires: column 2, row 1/).waitFor();
  expect((await named("What expires"))?.position.x).toBe(1);
  expectNoFaults();
});

test("a widget of several AI systems keeps all of them, also one that it names by its key", async () => {
  const { page, call, visit, findBarriers, expectNoFaults } = opened;
  const { key } = await call("POST", "ai-governance/ingest/keys", { name: "second" });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const samples = [{ metric: "latency", value: 1, recordedAt: new Date().toISOString() }];
  const path = `${opened.url}/organizations/${DEMO}/ai-governance/ingest/metrics`;
  const sent = await fetch(path, { method: "POST", headers, body: JSON.stringify({ system: "second-bot", samples }) });
  expect(sent.status).toBe(202);
  const systems: { id: string; key: string }[] = (await call("GET", "ai-governance/systems")).items;
  const [one, other] = systems;
  await call("POST", "core/widgets", {
    kind: "ai_metric_time_series",
    title: "Two bots",
    dashboard: "bots",
    settings: { systemIds: [one?.key, other?.id], metrics: ["latency"] },
  });
  await visit("overview");
  await visit("dashboards?dashboard=bots");
  await page.getByRole("button", { name: "Arrange" }).click();
  await page.getByRole("button", { name: "Change Two bots" }).click();
  await page.getByLabel("AI systems").locator("option:checked").nth(1).waitFor({ state: "attached" });
  await page.getByLabel("Title").fill("Both bots");
  expect(await findBarriers()).toEqual([]);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await named("Both bots"))?.settings.systemIds).toEqual([one?.id, other?.id]);
  await page.getByRole("button", { name: "Done" }).click();
  expectNoFaults();
});

test("the time range is set for all widgets that have one", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("dashboards");
  await page.getByLabel("Time range").selectOption("30");
  await page.getByText("Saved.").waitFor();
  expect((await named("What expires"))?.settings.horizonDays).toBe(30);
  expect((await named("Support bot"))?.settings.rangeHours).toBe(720);
  expect(await page.getByLabel("Time range").inputValue()).toBe("30");
  expectNoFaults();
});
