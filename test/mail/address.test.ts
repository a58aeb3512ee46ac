import { describe, expect, test } from "bun:test";
import { readAddress, showLookAlikes, toAscii, toLine } from "#mail/address";

describe("toAscii", () => {
  test.each([
    ["ada@example.org", "ada@example.org"],
    ["Ada.Lovelace+x@EXAMPLE.org", "Ada.Lovelace+x@example.org"],
    ["ada@bücher.example", "ada@xn--bcher-kva.example"],
    ["ada@аррӏе.com", "ada@xn--80ak6aa92e.com"], // Cyrillic letters that look like another domain
    ["ada@ＥＸＡＭＰＬＥ.org", "ada@example.org"],
    ["root@localhost", "root@localhost"],
  ])("%s is %s", (given, ascii) => {
    expect(toAscii(given)).toBe(ascii);
  });

  test.each([
    "",
    "ada",
    "@example.org",
    "ada@",
    "ada@example..org",
    "ada@exa mple.org",
    "ada@example.org\r\nBcc: eve@example.org",
    "ada\r\nBcc: eve@example.org@example.org",
    "ada\0@example.org",
    "ada@example.org\0",
    "ada@a%2eb.org",
    "ada@example.org/x",
    "ada@exa\u200bmple.org",
    "ada,eve@example.org",
    "<ada@example.org",
    "ada@[127.0.0.1]",
    "jörg@example.org",
    `${"x".repeat(65)}@example.org`,
    `ada@${"x".repeat(64)}.org`,
  ])("%j is no address", (given) => {
    expect(toAscii(given)).toBeUndefined();
  });
});

describe("readAddress", () => {
  test.each([
    ["ada@example.org", { name: "", address: "ada@example.org" }],
    ["Ada Lovelace <ada@example.org>", { name: "Ada Lovelace", address: "ada@example.org" }],
    ['"Lovelace, Ada" <ada@bücher.example>', { name: "Lovelace, Ada", address: "ada@xn--bcher-kva.example" }],
    ["<ada@example.org>", { name: "", address: "ada@example.org" }],
  ])("%s", (given, expected) => {
    expect(readAddress(given)).toEqual(expected);
  });

  test.each([
    "Ada",
    "Ada ada@example.org",
    "Ada <ada>",
    "A\r\nBcc: x@y.example <ada@example.org>",
    "Ada <ada@example.org> x",
    "ada@example.org, eve@example.org",
  ])("%j is neither", (given) => {
    expect(readAddress(given)).toBeUndefined();
  });
});

test("toLine leaves one line, and nothing that turns or hides what stands around it", () => {
  expect(toLine(" Ada\r\nBcc: eve@example.org\0 ")).toBe("Ada  Bcc: eve@example.org");
  expect(toLine("safe\u202egpj.exe")).toBe("safe gpj.exe");
  expect(toLine("Zoë 👩‍🚀 {{name}} <b>")).toBe("Zoë 👩‍🚀 {{name}} <b>");
});

describe("showLookAlikes", () => {
  test.each([
    ["www.аррӏе.com expires", "www.xn--80ak6aa92e.com expires"],
    ["gοogle.com", "xn--gogle-rce.com"],
    ["(раураl.com).", "(xn--l-7sba6dbr.com)."],
  ])("shows %j in punycode", (text, shown) => expect(showLookAlikes(text)).toBe(shown));

  test.each(["www.example.com", "Dr.Müller", "Größe.pdf", "пример.рф", "Правила v1.2 приняты", "手册.pdf", "", "a..b", "αβγ"])("leaves %j as it is", (text) =>
    expect(showLookAlikes(text)).toBe(text),
  );

  test("leaves no joiner in a domain", () => expect(showLookAlikes("exam\u200dple.com")).not.toContain("\u200d"));
});
