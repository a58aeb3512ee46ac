import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { endings } from "../server/endings";
import { newPlace, serve } from "../server/executable";
import { sign } from "../server/people";
import { JWT_SECRET } from "../server/world";
import { openBrowser } from "./browser";

export const DEMO = "0193b3c0-0000-7000-8000-00000000d350";
export const USER = "0193b3c0-0000-7000-8000-0000000000ad";
const TIMEOUT_MS = 300_000;
const SETTINGS = { JWT_SECRET, REQUEST_TIMEOUT: "60" }; // a busy machine is no fault of what is tested

let filled: Promise<string> | undefined;

/** A data directory that holds the demo; filled once in a run. */
async function fillDemo() {
  const { cwd, dataDir, remove } = newPlace();
  endings.push(remove);
  const server = await serve({ cwd, env: { DATA_DIR: dataDir, ...SETTINGS } }, "--demo");
  await server.prints("Certitude is ready.");
  await server.stop();
  return dataDir;
}

/** The executable with its demo filled and some more settings, and a browser at its sign-in page. */
async function openConsole(settings: Record<string, string> = {}) {
  const place = newPlace();
  filled ??= fillDemo();
  await Bun.$`cp -a ${await filled} ${place.dataDir}`;
  const program = { cwd: place.cwd, env: { DATA_DIR: place.dataDir, ...SETTINGS, ...settings } };
  const server = await serve(program, "--demo");
  await server.prints("Certitude is ready.");
  const browser = await openBrowser(server.url);
  const { page, faults } = browser;
  await page.goto(`${server.url}/console/`);

  /** Signs in by pasting a token, as the demo's administrator unless another's is given. */
  async function signIn(token?: string) {
    await page.getByLabel("Token", { exact: true }).fill(token ?? (await sign({ sub: USER })));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "attached" });
  }

  /**
   * Opens a page of the demo's organization, below `#/o/{organizationId}/`, and waits for its heading and what it reads. What
   * was told before is dismissed.
   */
  async function visit(path: string, organizationId = DEMO) {
    await page.evaluate("for (const each of document.querySelectorAll('.toast button')) each.click()");
    await page.goto(`${server.url}/console/#/o/${organizationId}/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("Loading…").first().waitFor({ state: "detached" });
  }

  /** Calls the API as the demo's administrator: a path of the organization, or with a slash before it any other. */
  async function call(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${await sign({ sub: USER })}`, "x-organization-id": DEMO, "x-organization-role": "ORG_ADMIN" };
    const sent = body === undefined ? { method, headers } : { method, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(new URL(path, `${server.url}/organizations/${DEMO}/`), sent);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Expects that the page complained of nothing since it was asked last, but of calls refused with `statuses`. */
  function expectNoFaults(...statuses: number[]) {
    expect(faults.splice(0).filter((fault) => !statuses.some((status) => fault.includes(`status of ${status}`)))).toEqual([]);
  }

  /** Expects that the page as it is fits a phone, that axe finds nothing, and no complaint. */
  async function expectSound(name: string) {
    expect(await browser.photograph(name)).toEqual([]);
    expect(await browser.findBarriers()).toEqual([]);
    expectNoFaults();
  }

  async function close() {
    await browser.close();
    await server.stop();
    place.remove();
  }
  return { ...browser, url: server.url, server, program, signIn, visit, call, expectNoFaults, expectSound, close };
}

/** A console for all tests of a file, signed in as the demo's administrator unless said. Its parts are there when the tests run. */
export function useConsole(settings: Record<string, string> = {}, { isSignedIn = true } = {}) {
  setDefaultTimeout(TIMEOUT_MS);
  const opened = {} as Awaited<ReturnType<typeof openConsole>>;
  beforeAll(async () => {
    Object.assign(opened, await openConsole(settings));
    if (isSignedIn) await opened.signIn();
  }, TIMEOUT_MS);
  afterAll(() => opened.close());
  return opened;
}
