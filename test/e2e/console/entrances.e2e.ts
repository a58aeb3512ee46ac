import { expect, test } from "bun:test";
import { AUDIENCE, newKey, PUBLIC_CLIENT, startProvider } from "../../auth/provider";
import { openBrowser } from "../../support/browser/browser";
import { useConsole } from "../../support/browser/console";
import { newPlace, serve } from "../../support/server/executable";
import { sign } from "../../support/server/people";

const opened = useConsole({}, { isSignedIn: false });

test("the demo's link opens the console signed in, once, and stays in no address", async () => {
  const { page, server, url, expectSound, expectNoFaults } = opened;
  const link = server.printed.find((line) => line.includes("/console/#/enter/"))?.trim() ?? "";
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(page.url()).toEndWith("/overview");
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  await expectSound("overview");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("This link was used before, or has ended.").waitFor();
  expect(page.url()).toBe(`${url}/console/#/`);
  expectNoFaults(401);
});

test("the link of an invitation opens the console, where the person who was invited accepts it", async () => {
  const { page, url, call, signIn, expectSound } = opened;
  const email = "grace@certitude.example";
  const { url: invitation } = (await call("POST", "members", { email, firstName: "Grace", lastName: "Hopper" })).invitation;
  const secret = invitation.slice(invitation.indexOf("#") + 1);
  await page.goto("about:blank");
  await page.goto(invitation);
  await page.getByText("You are invited.").waitFor();
  expect(page.url()).toBe(`${url}/console/#/invitation`);
  await signIn(await sign({ sub: crypto.randomUUID(), email, email_verified: true }));
  await page.getByRole("heading", { level: 1, name: "You are invited" }).waitFor();
  await expectSound("invitation");
  await page.getByRole("button", { name: "Accept the invitation" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(await page.getByLabel("Organization").inputValue()).not.toBe("");
  expect(page.url()).not.toContain(secret);
  opened.expectNoFaults();
});

test.each([
  ["an access token for the API", AUDIENCE],
  ["an id token, where the API's audience is the client", PUBLIC_CLIENT],
])("an identity provider signs a person in, with PKCE: %s", async (_, audience) => {
  await using provider = await startProvider(await newKey("RS256"));
  const { cwd, dataDir, remove } = newPlace();
  const env = { DATA_DIR: dataDir, OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: audience, OIDC_CLIENT_ID: PUBLIC_CLIENT };
  const server = await serve({ cwd, env });
  provider.register(`${server.url}/console/`);
  const { page, faults, findBarriers, close } = await openBrowser(server.url, provider.issuer);
  try {
    await page.goto(`${server.url}/console/`);
    await page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` }).click();
    await page.getByText("You belong to no organization yet.").waitFor();
    expect(page.url()).toBe(`${server.url}/console/#/`);
    expect(await findBarriers()).toEqual([]);
    expect(faults).toEqual([]);

    // an answer of the provider that nobody here asked for
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.goto(`${server.url}/console/?code=stolen&state=another`);
    await page.getByText("This sign-in was not begun in this tab.").waitFor();
    expect(page.url()).toBe(`${server.url}/console/#/`);
  } finally {
    await close();
    await server.stop();
    remove();
  }
});
