import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { useConsole } from "../../support/browser/console";
import { certificate } from "../../support/pki/certificates";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

/** Drops a file on the page. */
async function drop(text: string) {
  await opened.visit("certificates");
  await opened.visit("certificates/import");
  await opened.page.locator(".drop-zone input").setInputFiles({ name: "certificates.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
}

const line = (...cells: string[]) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",");
const counts = (text: string) => opened.page.getByText(text, { exact: true }).waitFor({ timeout: 0 });

test("rows with their problems are shown before anything is sent; the good ones are imported with owner, labels and notes; the others are saved", async () => {
  const { page, visit, call, expectSound, expectNoFaults } = opened;
  const known = certificate({ commonName: "known.certitude.example" });
  await call("POST", "certificates", { pem: known.pem });
  const fresh = certificate({ commonName: HOSTILE });
  const lines = [
    "pem,owner,labels,notes",
    line(fresh.pem, "demo@certitude.example", "env=prod;tier=web", HOSTILE),
    line(known.pem, "", "env=known", "'=not a formula"),
    line(certificate().pem, "", "", "=HYPERLINK(1)"),
    line(certificate().pem, "nobody@certitude.example", "", ""),
    line("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "", "", ""),
    line(certificate().pem, "", "UPPER=x", ""),
    "one cell",
  ];
  await visit("certificates");
  await page.getByRole("link", { name: "Import a CSV file" }).click();
  await page.getByRole("heading", { level: 1, name: "Import a CSV file" }).waitFor();
  await expectSound("import-csv");
  const before = (await call("GET", "certificates?limit=100")).items.length;
  await drop(lines.join("\r\n"));
  await counts("4 ready, 0 new, 0 known before, 0 refused, 3 with problems.");
  await page.getByText('Row 4: notes begins with "=": a spreadsheet would compute it.').waitFor();
  await expectSound("import-csv-rows");
  expect((await call("GET", "certificates?limit=100")).items.length).toBe(before);
  await page.getByRole("button", { name: "Import 4 rows" }).click();
  await counts("0 ready, 1 new, 1 known before, 2 refused, 3 with problems.");
  await page.getByText(/^Row 6: .*certificate/).waitFor();
  await page.getByText(/^Row 7: body\.labels names the key "UPPER"/).waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expectNoFaults(400);
  await expectSound("import-csv-done");
  const [one] = (await call("GET", "certificates?selector=env%3Dprod")).items;
  expect(one).toMatchObject({ labels: { env: "prod", tier: "web" }, notes: HOSTILE });
  expect(one.ownerId).not.toBeNull();
  const [other] = (await call("GET", "certificates?selector=env%3Dknown")).items;
  expect(other.notes).toBe("=not a formula");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save what is not imported" }).click();
  const saved = await Bun.file(await (await saving).path()).text();
  expect(saved).toContain("'=HYPERLINK(1)");
  await drop(saved);
  await page.getByText(/ ready, 0 new, 0 known before, 0 refused, /).waitFor();
  await page.getByText(/^Row 3: owner is "nobody@certitude.example"/).waitFor();
  expectNoFaults();
});

test("1,000 rows are sent one after the other, and those of a stopped import that are left are sent later", async () => {
  const { page, expectNoFaults } = opened;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pems = Array.from({ length: 1_000 }, (_, index) => certificate({ commonName: `bulk-${index}.certitude.example`, key: { privateKey } }).pem);
  await drop(["pem", ...pems.map((pem) => line(pem))].join("\r\n"));
  await counts("1000 ready, 0 new, 0 known before, 0 refused, 0 with problems.");
  await page.getByRole("button", { name: "Import 1,000 rows" }).click();
  await page.getByRole("progressbar", { name: "Importing" }).waitFor();
  await page.getByText(/ [1-9]\d* new/).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: /^Import \d+ rows$/ }).click();
  await counts("0 ready, 1000 new, 0 known before, 0 refused, 0 with problems.");
  expectNoFaults();
});

test("a wrong header and 10 MB that are pasted give a sentence at once", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await drop("name;pem\r\nx;y\r\n");
  await page.getByRole("alert").getByText('"name" is no column.').waitFor();
  await expectSound("import-csv-header");
  await visit("certificates");
  await visit("certificates/import");
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.setData("text/plain", "pem,notes\\n" + "x,".repeat(5_000_000));
    document.querySelector("#csv-text").dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  })()`);
  await page.getByText("Row 2: The row has 5000001 cells, and the header 2.").waitFor();
  expectNoFaults();
});
