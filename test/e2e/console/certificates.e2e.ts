import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";
import { certificate } from "../../support/pki/certificates";

const HOSTILE = `<img src=x onerror=alert(1)> "${crypto.randomUUID()}`;

const opened = useConsole();

const drop = `(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "new.pem"));
  for (const type of ["dragover", "drop"]) document.querySelector(".drop").dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
}`;

test("a dropped file is imported; a hostile name is text on the list and on its own page", async () => {
  const { page, visit, findBarriers, photograph, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("button", { name: "Import" }).click();
  await page.evaluate(`(${drop})(${JSON.stringify(certificate({ commonName: HOSTILE.slice(0, 64) }).pem)})`);
  await page.getByLabel("Certificates", { exact: true }).last().waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
  await page.getByText("1 new, 0 known before, 0 refused.").waitFor();
  expect(await findBarriers()).toEqual([]);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: "<img src=x" }).click();
  await page.getByRole("heading", { level: 1, name: "<img src=x" }).waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
  expect(await page.locator("img").count()).toBe(0);
  expect(await photograph("hostile")).toEqual([]);
  expectNoFaults();
});

test("what is no certificate is refused with the API's own sentence", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByRole("dialog").getByLabel("Certificates", { exact: true }).fill("=cmd|' /C calc'!A0,x");
  await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
  expect(await page.getByRole("alert").textContent()).toMatch(/PEM|certificate/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toContain("Import");
  expectNoFaults(400);
});

test("an owner is named; where another changed the certificate meanwhile (412), both versions are shown and the person's own is saved", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  const { items } = await call("GET", "certificates?q=shop.certitude.example");
  const { id } = items[0];
  await visit(`certificates/${id}`);
  await page.getByRole("button", { name: "Owner and labels" }).click();
  await page.getByRole("combobox", { name: /^Owner/ }).selectOption({ label: "(demo@certitude.example)" });
  await page.getByLabel("Notes").fill("mine");
  await call("PATCH", `certificates/${id}`, { notes: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("dialog", { name: "This was changed meanwhile" });
  await conflict.getByText("theirs", { exact: true }).waitFor();
  expectNoFaults(412);
  await expectSound("conflict");
  await conflict.getByRole("button", { name: "Save mine" }).click();
  await page.getByText("Saved.").waitFor();
  expect((await call("GET", `certificates/${id}`)).notes).toBe("mine");
  expect((await call("GET", `certificates/${id}`)).ownerId).not.toBeNull();
  expectNoFaults();
});

test("a certificate is assigned to an agent, and renewing it without an issuer gives the API's sentence", async () => {
  const { page, faults, visit, call } = opened;
  const { items } = await call("GET", "certificates?q=Demo%20Root%20mail");
  const agents = await call("GET", "agents");
  const [agent] = agents.items;
  const { id } = items[0];
  await visit(`certificates/${id}`);
  await page.getByRole("button", { name: "Assign" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Agent").selectOption({ label: agent.name });
  await dialog.getByLabel("Store").selectOption({ label: "Java default trust store (cacerts)" });
  await dialog.getByLabel("Application").fill("payroll");
  await dialog.getByLabel("Path").fill("/etc/java/cacerts");
  await dialog.getByLabel("Alias").fill("mail");
  await dialog.getByRole("button", { name: "Assign" }).click();
  await page.getByText("Assigned.").waitFor();
  const assigned = await call("GET", `agents/${agent.id}/assignments`);
  expect(assigned.items.map((each: { certificateId: string }) => each.certificateId)).toContain(id);
  await page.getByRole("button", { name: "Renew" }).click();
  await page.getByRole("button", { name: "Order the renewal" }).click();
  expect((await dialog.getByRole("alert").textContent())?.length).toBeGreaterThan(20);
  await page.keyboard.press("Escape");
  expect(faults.splice(0).filter((fault) => !/status of 4(00|09)/.test(fault))).toEqual([]);
});

test("a certificate is revoked, and its page says so", async () => {
  const { page, visit, call, findBarriers, expectNoFaults } = opened;
  const { items } = await call("GET", "certificates?q=wiki.certitude.example");
  await visit(`certificates/${items[0].id}`);
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByLabel("Reason").selectOption("keyCompromise");
  await page.getByRole("button", { name: "Revoke the certificate" }).click();
  await page.locator(".heading .badge", { hasText: "revoked" }).waitFor();
  expect((await call("GET", `certificates/${items[0].id}`)).revocationReason).toBe("keyCompromise");
  expect(await findBarriers()).toEqual([]);
  expectNoFaults();
});
