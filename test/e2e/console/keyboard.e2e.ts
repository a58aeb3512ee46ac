import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const PAGES = ["overview", "certificates", "agents", "rollouts", "issuers", "orders", "renewals", "governance", "ai-systems", "knowledge"];
const OTHERS = ["connections", "dashboards", "inbox", "notifications", "members", "api-tokens", "audit", "profile"];

const opened = useConsole();

/** Notes what takes the focus from now on, and whether one can see that it has it; answers how many things below `scope` may take it. */
const startWalk = (scope: string) => `{
  const focusable = "a[href], button, input, select, textarea, [tabindex='0']";
  const isReached = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.type !== "radio";
  const root = document.querySelector(${JSON.stringify(scope)});
  const describe = (each) => each.outerHTML.slice(0, 160);
  window.walk?.ending.abort();
  window.walk = { ending: new AbortController(), left: new Set([...root.querySelectorAll(focusable)].filter(isReached)), unseen: [], strangers: [] };
  document.addEventListener("focusin", ({ target }) => {
    window.walk.left.delete(target);
    if (!root.contains(target)) window.walk.strangers.push(describe(target));
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    if (outlineStyle === "none" || outlineWidth === "0px") window.walk.unseen.push(describe(target));
  }, { signal: window.walk.ending.signal });
  window.walk.tell = () => ({ left: [...window.walk.left].map(describe), unseen: window.walk.unseen, strangers: window.walk.strangers });
  root.querySelectorAll(focusable).length;
}`;
const received = () => opened.page.evaluate("window.walk.tell()") as Promise<{ left: string[]; unseen: string[]; strangers: string[] }>;

const LEFT = "window.walk.left.size";

/** A field for a moment takes several steps, and rows come as one goes down. */
async function walk(scope: string) {
  const count = Number(await opened.page.evaluate(startWalk(scope)));
  expect(count).toBeGreaterThan(0);
  for (let press = 0; press < 2 * count + 20 && Number(await opened.page.evaluate(LEFT)) > 0; press++) await opened.page.keyboard.press("Tab");
  return received();
}

test("Tab reaches everything on each page, and one sees where it is", async () => {
  const { page, visit, expectNoFaults } = opened;
  for (const path of [...PAGES, ...OTHERS]) {
    await visit(path);
    await page.locator(".skip").focus();
    await page.keyboard.press("Enter");
    expect({ path, ...(await walk("#main")) }).toEqual({ path, left: [], unseen: [], strangers: [] });
  }
  await page.locator(".skip").focus();
  expect(await walk(".side")).toEqual({ left: [], unseen: [], strangers: [] });
  expectNoFaults();
});

test("a dialog keeps the focus, in both directions, and gives it back", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("button", { name: "Import" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  expect(await walk("dialog")).toEqual({ left: [], unseen: [], strangers: [] });
  for (const key of [...Array(6).fill("Tab"), ...Array(12).fill("Shift+Tab")]) await page.keyboard.press(key);
  expect((await received()).strangers).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toContain("Import");
  expectNoFaults();
});
