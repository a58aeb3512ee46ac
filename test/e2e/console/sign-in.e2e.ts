import { afterAll, beforeAll, expect, test } from "bun:test";
import { DEMO, openConsole } from "../../support/browser/console";

const MINUTES = 60_000;
const STRANGE = "0193b3c0-0000-7000-8000-00000000ffff";

let opened: Awaited<ReturnType<typeof openConsole>>;
beforeAll(async () => {
  opened = await openConsole();
}, 5 * MINUTES);
afterAll(() => opened.close());

/** What a refused call leaves in the browser's console by itself. */
const beside = (status: number) => (fault: string) => !fault.includes(`status of ${status}`);

test(
  "a token that the server does not know: 401, and a sentence in the form",
  async () => {
    const { page, faults, findBarriers, photograph } = opened;
    await page.getByLabel("Token", { exact: true }).fill("not.a.token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The server does not accept this token").waitFor();
    expect(await findBarriers()).toEqual([]);
    expect(await photograph("sign-in")).toEqual([]);
    expect(faults.splice(0).filter(beside(401))).toEqual([]);
  },
  5 * MINUTES,
);

test(
  "a user token signs in, to the demo's certificates, and is in no address",
  async () => {
    const { page, faults, signIn, visit, findBarriers, photograph } = opened;
    await signIn();
    await visit("certificates");
    expect(await page.locator(".row-link").count()).toBeGreaterThan(5);
    expect(page.url()).not.toContain("eyJ");
    expect(await findBarriers()).toEqual([]);
    expect(await photograph("certificates")).toEqual([]);
    expect(faults.splice(0)).toEqual([]);
  },
  5 * MINUTES,
);

test(
  "one certificate has its chain, and keys lead there and back",
  async () => {
    const { page, faults, visit, findBarriers, photograph } = opened;
    await visit("certificates");
    await page.getByRole("table", { name: "Certificates" }).focus();
    await page.keyboard.press("ArrowDown");
    const name = await page.evaluate("document.activeElement.textContent");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: String(name) }).waitFor();
    await page.locator(".chain .current").waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
    await page.getByText("Loading…").first().waitFor({ state: "detached" });
    expect(await findBarriers()).toEqual([]);
    expect(await photograph("certificate")).toEqual([]);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Certificates" }).waitFor();
    expect(faults.splice(0)).toEqual([]);
  },
  5 * MINUTES,
);

test(
  "an organization that is another's: the API's own sentence",
  async () => {
    const { page, faults, visit } = opened;
    await visit("certificates", STRANGE);
    await page.getByText("You have no access to this organization.").waitFor();
    expect(faults.splice(0).filter(beside(403))).toEqual([]);
    await visit(`certificates/${STRANGE}`, DEMO);
    await page.getByText("There is no such certificate").waitFor();
    expect(faults.splice(0).filter(beside(404))).toEqual([]);
  },
  5 * MINUTES,
);

test(
  "a session that has ended: sign in again, and go on at the same page",
  async () => {
    const { page, faults, visit, signIn } = opened;
    await visit("certificates?status=expired");
    await page.evaluate(
      `sessionStorage.setItem("certitude-session", sessionStorage.getItem("certitude-session").replace(/"token":"[^"]*"/, '"token":"ended"'))`,
    );
    await page.reload();
    await page.getByText("Your session has ended.").waitFor();
    expect(faults.splice(0).filter(beside(401))).toEqual([]);
    await signIn();
    await page.getByRole("heading", { level: 1, name: "Certificates" }).waitFor();
    expect(page.url()).toContain("status=expired");
    expect(faults.splice(0)).toEqual([]);
  },
  5 * MINUTES,
);

test(
  "without JavaScript there is a sentence, and no page asks for anything outside",
  async () => {
    const { page, url } = opened;
    const context = await page.context().browser()?.newContext({ javaScriptEnabled: false });
    const bare = await context?.newPage();
    await bare?.goto(`${url}/`);
    expect(bare?.url()).toBe(`${url}/console/`);
    expect(await bare?.locator("body").textContent()).toContain("The console needs JavaScript.");
    await context?.close();
  },
  MINUTES,
);
