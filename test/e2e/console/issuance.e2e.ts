import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";
import { sign } from "../../support/server/people";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

const heading = (name: string) => opened.page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const first = async (path: string) => (await opened.call("GET", path)).items[0];

test("empty lists say what to do next", async () => {
  for (const path of ["issuers", "authorities", "orders", "renewals", "revocations"]) {
    await opened.visit(path);
    await opened.page.locator(".empty-title").waitFor();
    await opened.expectSound(`${path}-empty`);
  }
});

test("a root with an issuing authority is made, changed and disabled", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("authorities/new");
  await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
  await page.getByLabel("Common name").fill("Example Root");
  await page.getByLabel("Country").fill("de");
  await page.getByLabel("Name of the issuing authority below it").fill("Issuing CA");
  await page.getByRole("button", { name: "Make the authority" }).click();
  await page.getByRole("alert").getByText("body.subject.country").waitFor();
  expectNoFaults(400);
  await expectSound("new-authority");
  await page.getByLabel("Country").fill("DE");
  await page.getByRole("button", { name: "Make the authority" }).click();
  await heading(HOSTILE);
  await expectSound("authority");
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByRole("button", { name: "Disable" }).waitFor();
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByRole("dialog").getByLabel("Public address").fill("http://pki.certitude.example");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("http://pki.certitude.example/pki").first().waitFor();
  await visit("authorities");
  await page.getByRole("link", { name: "Issuing CA" }).waitFor();
  await expectSound("authorities");
});

test("an authority that is signed elsewhere shows its request, and is deleted", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("authorities/new");
  await page.getByLabel("How it comes here").selectOption("requested");
  await page.getByLabel("Name", { exact: true }).fill("Offline");
  await page.getByRole("button", { name: "Make the authority" }).click();
  await page.getByText("BEGIN CERTIFICATE REQUEST").waitFor();
  await page.getByRole("button", { name: "Send its certificate" }).click();
  await page.getByRole("dialog").getByLabel("Certificate").fill("nonsense");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await heading("Authorities");
  expectNoFaults(400);
});

test("an ACME issuer: its fields follow the DNS provider; tested, changed and deleted", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("issuers/new");
  await page.getByLabel("Kind").selectOption("acme");
  await page.getByLabel("Proof of names").selectOption("dns");
  await page.getByLabel("DNS provider").selectOption("rfc2136");
  await page.getByLabel("Name", { exact: true }).fill("Public CA");
  await page.getByLabel("Directory url").fill("https://acme.invalid/directory");
  await page.getByLabel("DNS: Server").fill("ns1.certitude.example");
  await page.getByLabel("DNS: Key name").fill("certitude");
  await page.getByLabel("Tsig secret").fill("c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0");
  await expectSound("new-issuer");
  await page.getByRole("button", { name: "Make the issuer" }).click();
  await heading("Public CA");
  await page.getByRole("button", { name: "Test" }).click();
  await page.locator(".toast.bad").waitFor();
  await page.getByText("failed", { exact: true }).waitFor();
  await expectSound("issuer");
  const made = await first("issuers");
  expect(made.config.challenges).toMatchObject([{ type: "dns-01", provider: "rfc2136", server: "ns1.certitude.example" }]);
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByRole("dialog").getByLabel("Preferred chain").fill("Example Root");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect(await first("issuers")).toMatchObject({ version: made.version + 1, config: { ...made.config, preferredChain: "Example Root" } });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await heading("Issuers");
  expectNoFaults();
});

test("a certificate is ordered of our own authority, and each step is seen until it is issued", async () => {
  const { page, visit, expectSound } = opened;
  await visit("issuers/new");
  await page.getByLabel("Kind").selectOption("internal");
  await page.getByLabel("Authority", { exact: true }).selectOption({ label: "Issuing CA (active)" });
  await page.getByLabel("Name", { exact: true }).fill("Ours");
  await page.getByRole("button", { name: "Make the issuer" }).click();
  await heading("Ours");
  await visit("orders/new");
  await page.getByLabel("Issuer", { exact: true }).selectOption({ label: "Ours (Our own authority)" });
  await page.getByLabel("Names").fill("www.certitude.example\napi.certitude.example");
  await expectSound("new-order");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await page.getByRole("link", { name: "What was issued" }).waitFor();
  await expectSound("order");
  await visit("orders");
  await page.getByRole("link", { name: "www.certitude.example, api.certitude.example" }).waitFor();
  await expectSound("orders");
  await visit("renewals");
  await page.locator(".badge", { hasText: "scheduled" }).waitFor();
  await expectSound("renewals");
  await visit("issuers");
  await expectSound("issuers");
});

test("where the policy asks for it an order awaits approval, which its author may not give; it is cancelled", async () => {
  const { page, visit, expectSound } = opened;
  await visit("orders/policy");
  await page.getByLabel("Domains", { exact: false }).first().fill("*.certitude.example");
  await page.getByLabel("Another administrator").check();
  await expectSound("policy");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: it counts").waitFor();
  expect(await opened.call("GET", "issuance-policy")).toMatchObject({ allowedDomains: ["*.certitude.example"], allowedAddresses: null, needsApproval: true });
  const { id: issuerId } = await first("issuers");
  await visit(`orders/new?issuer=${issuerId}`);
  await page.getByLabel("Names").fill("shop.example.org");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await page.getByText("which the issuance policy of the organization does not allow").waitFor();
  await page.getByLabel("Names").fill("shop.certitude.example");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  await heading("shop.certitude.example");
  await page.getByText("awaits approval").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator(".toast.bad").waitFor();
  await page.getByRole("button", { name: "Cancel the order" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the order" }).click();
  await page.getByText("The order is cancelled.").waitFor();
  expect((await first("certificate-requests")).status).toBe("cancelled");
  expect(opened.faults.splice(0).filter((fault) => !/status of 40[03]/.test(fault))).toEqual([]);
});

test("another administrator approves one order, which goes on, and refuses another with a reason that its author reads", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  const email = "grace.second@certitude.example";
  const { url } = (await call("POST", "members", { email, firstName: "Grace", lastName: "Second", role: "ORG_ADMIN" })).invitation;
  const second = await sign({ sub: crypto.randomUUID(), email, email_verified: true });
  const accepting = { method: "POST", headers: { authorization: `Bearer ${second}`, "content-type": "application/json" } };
  const accepted = await fetch(`${opened.url}/invitations/accept`, { ...accepting, body: JSON.stringify({ token: url.slice(url.indexOf("#") + 1) }) });
  expect(accepted.status).toBe(200);
  const { id: issuerId } = await first("issuers");
  const order = (name: string) => call("POST", "certificate-requests", { issuerId, names: [name], key: { algorithm: "ecdsa-p256", location: "server" } });
  const [one, other] = [await order("approved.certitude.example"), await order("refused.certitude.example")];
  await page.getByRole("button", { name: "Sign out" }).click();
  await opened.signIn(second);
  expectNoFaults(401); // of each read that was under way at the end of the session before
  await visit(`orders/${one.id}`);
  await page.getByText("awaits approval").first().waitFor();
  await expectSound("order-to-approve");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("link", { name: "What was issued" }).waitFor();
  await visit(`orders/${other.id}`);
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByRole("dialog").getByLabel("Why").fill("Not this quarter.");
  await page.getByRole("dialog").getByRole("button", { name: "Refuse" }).click();
  await page.getByText("Refused: it is cancelled.").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await opened.signIn();
  expectNoFaults(401);
  await visit(`orders/${other.id}`);
  await page.getByText("Not this quarter.").first().waitFor();
  expect(await call("GET", `certificate-requests/${other.id}`)).toMatchObject({ status: "cancelled", approval: "refused" });
  expect(await call("GET", `certificate-requests/${one.id}`)).toMatchObject({ status: "issued", approval: "given" });
  expectNoFaults();
});
