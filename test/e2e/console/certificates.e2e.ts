import { expect, test } from "bun:test";
import { USER, useConsole } from "../../support/browser/console";
import { certificate } from "../../support/pki/certificates";

const HOSTILE = `<img src=x onerror=alert(1)> "${crypto.randomUUID()}`;

const opened = useConsole();

const drop = `(bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "new.cer"));
  for (const type of ["dragover", "drop"]) document.querySelector(".drop-zone").dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
}`;

test("a dropped file, in PEM or DER, is imported; a hostile name is text on the list and on its own page", async () => {
  const { page, visit, findBarriers, photograph, expectNoFaults } = opened;
  await visit("certificates");
  await page.getByRole("button", { name: "Import" }).click();
  const der = Buffer.from(certificate().pem.replaceAll(/-----.*-----|\s/g, ""), "base64");
  for (const file of [Buffer.from(certificate({ commonName: HOSTILE.slice(0, 64) }).pem), der]) await page.evaluate(`(${drop})(${JSON.stringify([...file])})`);
  await page.getByLabel("Certificates", { exact: true }).last().waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
  await page.getByText("2 new, 0 known before, 0 refused.").waitFor();
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
  await page.locator(".facts").getByText("demo@certitude.example").waitFor();
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
  await dialog.getByLabel("Agent", { exact: true }).selectOption({ label: agent.name });
  await dialog.getByLabel("Store", { exact: true }).selectOption({ label: "Java default trust store (cacerts)" });
  await dialog.getByLabel("Application").fill("payroll");
  await dialog.getByLabel("Trust store path").fill("/etc/java/cacerts");
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

test("a hold is lifted, a certificate is retired and brought back, and the list is filtered by owner, labels and fingerprint", async () => {
  const { page, visit, call, findBarriers, expectNoFaults } = opened;
  const [one] = (await call("GET", "certificates?q=auth.certitude.example")).items;
  const heading = (state: string) => page.locator(".heading .badge", { hasText: state }).waitFor();
  const confirm = async (name: string) => {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
  };
  await call("POST", `certificates/${one.id}/revoke`, { reason: "certificateHold" });
  await visit(`certificates/${one.id}`);
  await heading("revoked");
  await confirm("Reinstate");
  await page.getByText("Reinstated.").waitFor();
  await confirm("Retire");
  await heading("retired");
  expect(await call("GET", `certificates/${one.id}`)).toMatchObject({ status: "retired", revokedAt: null });
  expect(await findBarriers()).toEqual([]);
  await confirm("Bring back");
  await page.getByRole("button", { name: "Retire" }).waitFor();
  const { status, retiredAt, labels } = await call("PATCH", `certificates/${one.id}`, { ownerId: USER, labels: { team: "filters" } });
  expect({ retiredAt, labels }).toEqual({ retiredAt: null, labels: { team: "filters" } });
  expect(["active", "expired"]).toContain(status);
  await visit("certificates");
  await page.getByLabel("Owner").selectOption(USER);
  await page.getByLabel("Labels").fill("team=filters");
  await page.getByText("1 row", { exact: true }).waitFor();
  expect(page.url()).toContain(`owner=${USER}`);
  await page.getByLabel("SHA-256").fill("00".repeat(32));
  await page.getByText("No certificate matches.").waitFor();
  expect(await findBarriers()).toEqual([]);
  expectNoFaults();
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
