import { newPlace, run, serve } from "../server/executable";
import { openBrowser } from "./browser";

export const DEMO = "0193b3c0-0000-7000-8000-00000000d350";
export const USER = "0193b3c0-0000-7000-8000-0000000000ad";

/** The executable with its demo filled and some more settings, and a browser at its sign-in page. */
export async function openConsole(settings: Record<string, string> = {}) {
  const place = newPlace();
  const env = { DATA_DIR: place.dataDir, ...settings };
  const server = await serve({ cwd: place.cwd, env }, "--demo");
  await server.prints("Certitude is ready.");
  const browser = await openBrowser(server.url);
  const { page } = browser;
  const tokenFor = async (...options: string[]) => (await run({ cwd: place.cwd, env }, "token", ...options)).stdout;
  await page.goto(`${server.url}/console/`);

  /** Signs in as the demo's administrator, by pasting a token. */
  async function signIn(token?: string) {
    await page.getByLabel("Token", { exact: true }).fill(token ?? (await tokenFor("--user", USER)));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "attached" });
  }

  /** Opens a page of the demo's organization, below `#/o/{organizationId}/`, and waits for its heading and what it reads. */
  async function visit(path: string, organizationId = DEMO) {
    await page.goto(`${server.url}/console/#/o/${organizationId}/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("Loading…").first().waitFor({ state: "detached" });
  }

  /** Calls the API as the demo's administrator. */
  async function call(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${await tokenFor("--user", USER)}`, "x-organization-id": DEMO, "x-organization-role": "ORG_ADMIN" };
    const sent = body === undefined ? { method, headers } : { method, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(`${server.url}/organizations/${DEMO}/${path}`, sent);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async function close() {
    await browser.close();
    await server.stop();
    place.remove();
  }
  return { ...browser, url: server.url, server, place: { ...place, env }, tokenFor, signIn, visit, call, close };
}
