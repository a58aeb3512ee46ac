import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import axe from "axe-core";
import { type Browser, chromium } from "playwright-core";
import { endings } from "../server/endings";

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
/** The rules that the look changes: in the dark, axe's other rules would find the same again. */
const COLOUR_RULES = { runOnly: ["color-contrast", "link-in-text-block"] };

/** Milliseconds that a step in a page may take: a busy machine is no fault, and the runner ends what hangs. */
const PATIENCE = 100_000;

let running: Promise<Browser> | undefined;

/** The browser of the whole run. */
function launch() {
  if (!CHROMIUM) throw new Error("This test needs Chromium: apt-get install chromium");
  running ??= chromium.launch({ executablePath: CHROMIUM, args: QUIET }).then((browser) => {
    endings.push(() => browser.close());
    return browser;
  });
  return running;
}

/**
 * A page with storage of its own. `faults` are requests to anybody but `servers`, complaints in its console, and what the
 * policy refused.
 */
export async function openBrowser(...servers: string[]) {
  const browser = await launch();
  const context = await browser.newContext({ ...LOOKS.light, locale: "en-GB", timezoneId: "Europe/Berlin" });
  context.setDefaultTimeout(PATIENCE);
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

  /** Returns axe's findings on the page, in light and in dark: rule, sentence and elements. */
  async function findBarriers() {
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
    const found: string[] = [];
    for (const [look, rules] of [
      ["light", {}],
      ["dark", COLOUR_RULES],
    ] as const) {
      await page.emulateMedia({ colorScheme: look });
      const violations = (await page.evaluate(
        `axe.run(${JSON.stringify(rules)}).then(({ violations }) => violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes.map(({ html }) => html).join(" ")))`,
      )) as string[];
      found.push(...violations.map((each) => `${look}: ${each}`));
    }
    await page.emulateMedia({ colorScheme: "light" });
    return found;
  }

  /**
   * Returns the width of the page on a phone, in pixels, if it does not fit. With `SCREENSHOTS=yes` pictures are left in
   * dist/screenshots.
   */
  async function photograph(name: string) {
    const isKept = Bun.env.SCREENSHOTS === "yes";
    if (isKept) mkdirSync(SHOTS, { recursive: true });
    for (const [look, { viewport, colorScheme }] of Object.entries(isKept ? LOOKS : { phone: LOOKS.phone })) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      if (isKept) await page.screenshot({ path: `${SHOTS}/${name}-${look}.png` });
    }
    const width = (await page.evaluate("document.documentElement.scrollWidth")) as number;
    await page.setViewportSize(LOOKS.light.viewport);
    return width <= LOOKS.phone.viewport.width ? [] : [width];
  }

  return { page, faults, findBarriers, photograph, close: () => context.close() };
}
