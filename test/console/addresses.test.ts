import { expect, test } from "bun:test";
import { KIND_NAMES, kindOf } from "#modules/notifications/events/rules/kinds";
import { consoleAddress } from "../../src/console/app/inbox/addresses";

const ORGANIZATION = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";
const SUBJECT = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02";
const PAGES = new URL("../../src/console/app/pages/index.ts", import.meta.url);

/** The console's table of pages, as patterns. */
async function readPages() {
  const paths = (await Bun.file(PAGES).text()).matchAll(/\{ path: "([^"]+)"/g);
  return Array.from(paths, ([, path = ""]) => new RegExp(`^${path.replaceAll(/:[a-zA-Z]+/g, "[^/?]+")}$`));
}

test.each(KIND_NAMES)("a notice of the kind %s leads to a page of the console, of one subject and of several", async (kind) => {
  const pages = await readPages();
  const { path, example } = kindOf(kind);
  for (const each of [path.one(SUBJECT, example), path.many({ items: [example], count: 2, now: new Date() })]) {
    const address = consoleAddress(`/organizations/${ORGANIZATION}${each}`);
    expect(address).toStartWith(`#/o/${ORGANIZATION}/`);
    const [page = ""] = address.slice(`#/o/${ORGANIZATION}/`.length).split("?");
    expect(pages.filter((pattern) => pattern.test(page))).not.toEqual([]);
  }
});

test("a search keeps its words, and a list its filter", () => {
  expect(consoleAddress(`/organizations/${ORGANIZATION}/knowledge/search?q=Risk%20%26%20more`)).toBe(`#/o/${ORGANIZATION}/knowledge?q=Risk%20%26%20more`);
  expect(consoleAddress(`/organizations/${ORGANIZATION}/certificate-requests?status=failed`)).toBe(`#/o/${ORGANIZATION}/orders?status=failed`);
});

test("what is no path of an organization leads to the first page", () => {
  expect(consoleAddress("javascript:alert(1)")).toBe("#/");
});
