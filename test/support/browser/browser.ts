import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
];
const SHOTS = resolve(import.meta.dir, "../../../dist/screenshots");
const LOOKS = {
  light: { viewport: { width: 1280, height: 860 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light" },
} as const;

/** A browser of its own. `faults` are requests to anybody but `servers`, complaints in its console, and what the policy refused. */
export async function openBrowser(...servers: string[]) {
  if (!CHROMIUM) throw new Error("This test needs Chromium: apt-get install chromium");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
  const context = await browser.newContext({ ...LOOKS.light, locale: "en-GB", timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  const faults: string[] = [];
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith("data:") || servers.some((server) => url.startsWith(`${server}/`))) return route.continue();
    faults.push(`request to ${url}`);
    return route.abort();
  });
  page.on("console", (message) => void (["error", "warning"].includes(message.type()) && faults.push(message.text())));
  page.on("pageerror", (error) => void faults.push(error.message));
  await context.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`,
  );

  /** What axe finds on the page as it is, in light and in dark: rule, sentence and elements. */
  async function findBarriers() {
    const found: string[] = [];
    for (const look of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: look });
      await page.evaluate(axe.source);
      const violations = (await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes.map(({ html }) => html).join(" ")))`,
      )) as string[];
      found.push(...violations.map((each) => `${look}: ${each}`));
    }
    await page.emulateMedia({ colorScheme: "light" });
    return found;
  }

  /** Pictures of the page in light, in dark and on a phone, under dist/screenshots. Returns the widths, in pixels, that do not fit the phone. */
  async function photograph(name: string) {
    mkdirSync(SHOTS, { recursive: true });
    for (const [look, { viewport, colorScheme }] of Object.entries(LOOKS)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${SHOTS}/${name}-${look}.png` });
    }
    const width = (await page.evaluate("document.documentElement.scrollWidth")) as number;
    await page.setViewportSize(LOOKS.light.viewport);
    return width <= LOOKS.phone.viewport.width ? [] : [width];
  }

  return { page, faults, findBarriers, photograph, close: () => browser.close() };
}
