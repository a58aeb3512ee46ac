import { expect, test } from "bun:test";
import { useConsole } from "../../support/browser/console";
import { certificate } from "../../support/pki/certificates";

const COUNT = 3_000;
const PER_IMPORT = 1_000;

const opened = useConsole();

/** Scrolls to the end again and again until every page of the list is there; answers the most rows that were in the document. */
const SCROLL = `(async () => {
  const box = document.querySelector(".table-box");
  let most = 0;
  while (document.querySelector(".count").textContent.includes("so far")) {
    box.scrollTop = box.scrollHeight;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, box.querySelectorAll("tr").length);
  }
  return most;
})()`;

test("of 3,000 rows only those in sight are in the document, while they are scrolled and walked through by keys", async () => {
  const { page, call, visit, expectNoFaults } = opened;
  const authority = certificate({ commonName: "Rows", isCa: true });
  for (let from = 0; from < COUNT; from += PER_IMPORT) {
    const pems = Array.from({ length: PER_IMPORT }, (_, n) => certificate({ commonName: `row-${from + n}.example`, issuer: authority, key: authority }).pem);
    await call("POST", "certificates", { pem: pems.join("\n") });
  }
  await visit("certificates");
  const most = await page.evaluate(SCROLL);
  expect(most).toBeGreaterThan(10);
  expect(most).toBeLessThan(60);
  expect(Number((await page.locator(".count").textContent())?.replace(/\D/g, ""))).toBeGreaterThan(COUNT);

  await page.evaluate("document.querySelector('.table-box').scrollTop = 0");
  await page.locator("tr[aria-rowindex='2'] .row-link").focus();
  const rowOfFocus = () => page.evaluate("Number(document.activeElement.closest('tr')?.ariaRowIndex)");
  while (Number(await rowOfFocus()) < 150) await page.keyboard.press("ArrowDown");
  expect(await page.locator(".table-box tr").count()).toBeLessThan(60);
  expectNoFaults();
});
