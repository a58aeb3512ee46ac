import { afterAll, beforeAll, expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=document.title='taken'>";

const opened = useConsole({ ALLOW_PRIVATE_TARGETS: "true" });
let channel: Bun.Server<undefined>;
/** The id of what the channel is told next. */
let received = Promise.withResolvers<string | null>();
beforeAll(() => {
  channel = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      received.resolve(request.headers.get("webhook-id"));
      return new Response();
    },
  });
});
afterAll(() => channel.stop(true));

test("own preferences: what is chosen is there after a reload, and a time zone that is none is refused", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("notifications");
  await expectSound("notifications");
  await page.getByLabel("Agent silent: Daily").check();
  await page.getByLabel("Your time zone").fill("Nowhere/At all");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("body.timeZone must be a name of the IANA time zone database").waitFor();
  expectNoFaults(400);
  await page.getByLabel("Your time zone").fill("Europe/Berlin");
  await page.getByLabel("Hour of the daily digest").fill("7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Your preferences are saved.").waitFor();
  await page.reload();
  await page.getByLabel("Your time zone").waitFor();
  expect(await page.getByLabel("Your time zone").inputValue()).toBe("Europe/Berlin");
  expect(await page.getByLabel("Hour of the daily digest").inputValue()).toBe("7");
  expect(await page.getByLabel("Agent silent: Daily").isChecked()).toBe(true);
  expectNoFaults();
});

test("a route to a webhook is made, tested, delivered once more, changed and deleted", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  await call("POST", "core/connections", {
    name: "Our hook",
    kind: "webhook",
    config: { url: channel.url.href, events: ["certificate_expiring"] },
    secrets: {},
  });
  await visit("notifications/routes");
  await page.getByText("There are no routes yet.").waitFor();
  await expectSound("routes-none");
  await page.getByRole("button", { name: "Add a route" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(HOSTILE);
  await dialog.getByLabel("Channel").selectOption({ label: "Our hook (webhook)" });
  await dialog.getByLabel("Certificate expired").check();
  await expectSound("route-new");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("table", { name: "Deliveries" }).getByText("delivered, a test").waitFor();
  const first = await received.promise;
  received = Promise.withResolvers();
  await expectSound("route");
  await page.getByRole("table", { name: "Deliveries" }).getByRole("button").first().click();
  await expectSound("delivery");
  await dialog.getByRole("button", { name: "Deliver once more" }).click();
  await page.getByText("It is delivered once more.").waitFor();
  expect(await received.promise).toBe(first);
  await page.getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Enabled").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("disabled").waitFor();
  await page.getByRole("link", { name: "Notification routes" }).click();
  await page.getByRole("table", { name: "Notification routes" }).getByText("Our hook").waitFor();
  await expectSound("routes");
  await page.getByRole("link", { name: HOSTILE }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("There are no routes yet.").waitFor();
  expectNoFaults();
});

test("the expiry policy: days, an exception, and the API's sentence for one that fits everything", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  await visit("notifications/expiry");
  await expectSound("expiry");
  await page.getByRole("button", { name: "All certificates: remove 60 days" }).click();
  await page.getByRole("button", { name: "Add an exception" }).click();
  await expectSound("expiry-exception");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("body.overrides[0] must have an issuer, a selector, or both.").waitFor();
  expectNoFaults(400);
  await page.getByLabel("Labels").fill("env=prod");
  await page.getByLabel("Exception 1: days, 1", { exact: true }).fill("90");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The policy is saved.").waitFor();
  const policy = await call("GET", "certificates/expiry-policy");
  expect(policy.version).toBe(1);
  expect(policy.thresholds.map(({ days }: { days: number }) => days)).toEqual([30, 14, 7, 3, 1]);
  expect(policy.overrides).toMatchObject([{ selector: "env=prod" }]);
  expect(policy.overrides[0].thresholds[0].days).toBe(90);
  expectNoFaults();
});
