import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";

const HOSTILE = "<img src=x onerror=alert(1)>";

const opened = useConsole();

test("documents are chosen, become ready by themselves, and what is no text is refused with a sentence", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("knowledge");
  await page.getByText("Incident response for AI systems").waitFor();
  const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  await page
    .locator("input[type=file]")
    .setInputFiles([file("zebra-policy.md", `# Zebras\n\nEvery zebra ${HOSTILE} carries a key.`), file("picture.png", "x")]);
  await page.getByText("zebra-policy.md was taken.").waitFor();
  await page.getByText("picture.png was refused: body.file is called").waitFor();
  await page
    .getByRole("row", { name: /zebra policy/ })
    .getByText("ready")
    .waitFor();
  expectNoFaults(400);
  await expectSound("knowledge");
});

test("a file that is dropped is taken like one that is chosen", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("knowledge");
  await page.getByRole("table", { name: "Documents" }).waitFor();
  await page.evaluate(`{
      const carried = new DataTransfer();
      carried.items.add(new File(["Okapis rotate their keys yearly."], "okapi.txt"));
      document.querySelector(".drop-zone").dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
    }`);
  await page.getByText("okapi.txt was taken.").waitFor();
  await page.getByRole("row", { name: /okapi/ }).getByText("ready").waitFor();
  expectNoFaults();
});

test("a search marks what it found, and shows markup in a document as text", async () => {
  const { page, visit, expectSound, expectNoFaults } = opened;
  await visit("knowledge");
  await page.getByRole("searchbox", { name: "Search" }).fill("zebra");
  await page.locator("mark").first().waitFor();
  expect(page.url()).toContain("q=zebra");
  expect(await page.locator(".passage").first().textContent()).toContain(HOSTILE);
  expect(await page.locator("main img").count()).toBe(0);
  await expectSound("knowledge-search");
  await page.getByRole("searchbox", { name: "Search" }).fill("gnu");
  await page.getByText("Nothing was found for “gnu”.").waitFor();
  expectNoFaults();
});

test("a document is indexed again and deleted", async () => {
  const { page, visit, expectNoFaults } = opened;
  await visit("knowledge");
  await page.getByRole("button", { name: "Index again okapi" }).click();
  await page.getByText("It is being indexed.").waitFor();
  await page.getByRole("row", { name: /okapi/ }).getByText("ready").waitFor();
  await page.getByRole("button", { name: "Delete okapi" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("okapi was deleted.").waitFor();
  await page.getByRole("row", { name: /okapi/ }).waitFor({ state: "detached" });
  expectNoFaults();
});
