import { openBrowser } from "../support/browser/browser";
import { endings } from "../support/server/endings";
import { inDatabase } from "./database";
import { signToken, startCertitude } from "./processes";
import { seed, USER } from "./seed";

const HELP = `bun run bench:console [--quick]

How does the console feel in an organization of a million certificates? In headless Chromium on this machine: when the largest part of a
page is painted and when all of it has been read, and what becomes of the frames while 50,000 rows are scrolled. Needs a Postgres:
TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops it at the end.

  --quick   50,000 certificates instead of a million`;

const SIZE = Bun.argv.includes("--quick") ? 50_000 : 1_000_000;
const ROUNDS = 5;
const ROWS = 50_000;
const PAGES = ["overview", "certificates", "agents", "dashboards", "inbox", "audit", "renewals"];

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("console", ({ url }) => bench(url)).finally(() => Promise.all(endings.map((end) => end())));

async function bench(database: string) {
  const [organization] = await seed(database, [SIZE]);
  if (!organization) throw new Error("the seed made no organization");
  const server = await startCertitude({ DATABASE_URL: database, DATA_DIR: "/nonexistent" });
  const session = await signIn(server);
  console.info(`${SIZE.toLocaleString()} certificates; milliseconds, median of ${ROUNDS} (slowest)\n`);
  console.info("page".padEnd(16), "largest paint".padStart(20), "all was read".padStart(20));
  for (const path of PAGES) {
    const rounds: { paint: number; whole: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measurePage(`${server}/console/#/o/${organization.id}/${path}`, server, session));
    console.info(path.padEnd(16), describe(rounds.map(({ paint }) => paint)).padStart(20), describe(rounds.map(({ whole }) => whole)).padStart(20));
  }
  await measureScrolling(`${server}/console/#/o/${organization.id}/certificates`, server, session);
}

/** The session of a browser that has signed in, as it is kept in its tab. */
async function signIn(server: string) {
  const { page, close } = await openBrowser(server);
  await page.goto(`${server}/console/`);
  await page.getByLabel("Token", { exact: true }).fill(await signToken(USER));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  const session = await page.evaluate("sessionStorage.getItem('certitude-session')");
  await close();
  return String(session);
}

/** A new browser profile, with nothing in its cache, that is signed in. */
async function openSignedIn(server: string, session: string) {
  const browser = await openBrowser(server);
  await browser.page.addInitScript(`sessionStorage.setItem("certitude-session", ${JSON.stringify(session)})`);
  return browser;
}

async function measurePage(address: string, server: string, session: string) {
  const { page, faults, close } = await openSignedIn(server, session);
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  const whole = Number(await page.evaluate("performance.now()"));
  const paint = Number(
    await page.evaluate(`new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true });
    })`),
  );
  await close();
  if (faults.length > 0) throw new Error(`${address}: ${faults.join("; ")}`);
  return { paint, whole };
}

type Scrolled = { rows: number; seconds: number; frames: number; late: number; longest: number; tasks: number; nodes: number };

/** A screen with each second frame, as a reader who looks for something does; it waits for pages that are not there yet. */
async function measureScrolling(address: string, server: string, session: string) {
  const { page, close } = await openSignedIn(server, session);
  await page.goto(address);
  await page.locator(".table-box").waitFor();
  const scrolled = (await page.evaluate(`(async () => {
    const box = document.querySelector(".table-box");
    const rows = () => Number(document.querySelector(".count").textContent.replace(/\\D/g, ""));
    const frames = [];
    let tasks = 0, nodes = 0, before = await new Promise(requestAnimationFrame);
    const observer = new PerformanceObserver((list) => { tasks += list.getEntries().length; });
    observer.observe({ type: "longtask" });
    const began = performance.now();
    while (rows() < Math.min(${ROWS}, ${SIZE}) || box.scrollTop + box.clientHeight < box.scrollHeight - 48) {
      box.scrollTop += 600;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - before);
      before = now;
      if (frames.length % 60 === 0) nodes = Math.max(nodes, document.querySelectorAll("*").length);
    }
    return { rows: rows(), seconds: (performance.now() - began) / 1_000, frames: frames.length, late: frames.filter((each) => each > 25).length,
      longest: Math.max(...frames), tasks, nodes };
  })()`)) as Scrolled;
  const { rows, seconds, frames, late, longest, tasks, nodes } = scrolled;
  console.info(
    `\n${rows.toLocaleString()} rows scrolled in ${seconds.toFixed(1)} s: ${frames} frames, ${late} of them late (over 25 ms), the longest ${longest.toFixed(0)} ms;`,
  );
  console.info(`${tasks} tasks over 50 ms; at most ${nodes} elements in the document`);
  await close();
}

function describe(numbers: number[]) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return `${sorted[Math.floor(sorted.length / 2)]?.toFixed(0)} (${sorted.at(-1)?.toFixed(0)})`;
}
