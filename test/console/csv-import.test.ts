import { describe, expect, test } from "bun:test";
import { remainder, startImport } from "#console/app/pages/certificates/csv/progress";
import { readRecords, readText } from "#console/app/pages/certificates/csv/read";
import { checkTable } from "#console/app/pages/certificates/csv/rows";
import { growthOf, SUPER_LINEAR } from "../support/server/growth";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
const OWNER = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";
const OWNERS = new Map([["ada@certitude.example", OWNER]]);

const check = async (text: string) => checkTable(await readRecords(text), OWNERS);
const problemsOf = async (header: string, ...lines: string[]) => {
  const { rows } = await check([header, ...lines].join("\r\n"));
  return rows.map((row) => ("problem" in row ? row.problem : undefined));
};

test.each([",", ";", "\t"])("a row with all columns, separated by %j", async (separator) => {
  const cells = ["PEM", "owner", "Contacts", "labels", "notes"];
  const row = [`"${PEM}"`, "Ada@certitude.example", '"a@b.example; c@d.example"', '"env=prod;tier=web"', '"He said ""yes"", twice"'];
  const { rows } = await check(`${cells.join(separator)}\r\n${row.join(separator)}\r\n`);
  expect(rows).toMatchObject([
    {
      number: 2,
      entry: {
        pem: PEM,
        ownerId: OWNER,
        contacts: ["a@b.example", "c@d.example"],
        labels: { env: "prod", tier: "web" },
        notes: 'He said "yes", twice',
      },
    },
  ]);
});

test("what a row leaves empty is not named; empty lines are no rows, and count as a spreadsheet counts them", async () => {
  const { rows } = await check(`pem,owner,notes\n\n"${PEM}",,\n`);
  expect(rows).toEqual([{ number: 3, cells: [PEM, "", ""], entry: { pem: PEM } }]);
});

describe("a header that is none is refused with the columns that there are", () => {
  test.each([
    ["name,pem", '"name" is no column.'],
    ["name;pem", '"name" is no column.'],
    ["owner,notes", "The column pem is missing."],
    ["pem,PEM", "A column is named twice."],
    ["=cmd|' /C calc'!A0", "is no column."],
  ])("%s", (header, fault) => expect(check(`${header}\nx,y\n`)).rejects.toThrow(fault));
  test("nothing at all", () => expect(check("")).rejects.toThrow("The first row names the columns: pem"));
  test("a header alone", () => expect(check("pem,notes\n")).rejects.toThrow("There is no row below the header."));
});

describe("a row with a problem says what it is, and the others stand", () => {
  test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1"])("a formula: %j", async (notes) => {
    const [problem, other] = await problemsOf("pem,notes", `"${PEM}","${notes}"`, `"${PEM}",fine`);
    expect(problem).toMatch(/^notes begins with ".+": a spreadsheet would compute it\./);
    expect(other).toBeUndefined();
  });
  test("a formula in the place of a certificate", async () =>
    expect(await problemsOf("pem", "=HYPERLINK(1)")).toEqual([expect.stringContaining('pem begins with "="')]));
  test("a formula that is made text by a quote is kept as text", async () => {
    const { rows } = await check(`pem,notes\n"${PEM}",'=1+1\n`);
    expect(rows).toMatchObject([{ entry: { notes: "=1+1" } }]);
  });
  test("too few cells, no certificate, an owner whom nobody knows, a label that is none", async () => {
    const problems = await problemsOf("pem,owner,labels", `"${PEM}"`, "x,,", `"${PEM}",bob@certitude.example,`, `"${PEM}",,prod`);
    expect(problems).toEqual([
      "The row has 1 cell, and the header 3.",
      "pem holds no certificate in PEM (-----BEGIN CERTIFICATE-----).",
      'owner is "bob@certitude.example", and no active member has this e-mail address.',
      'labels has "prod": write name=value, and a semicolon between two.',
    ]);
  });
  test("a quote that is not closed", async () =>
    expect(await problemsOf("pem,notes", `"${PEM}",fine`, `"${PEM}","not closed`)).toEqual([undefined, expect.stringContaining('A cell begins with "')]));
});

test("what is not imported is saved without formulas, and read again as it was", async () => {
  const { header, rows } = await check(`pem,notes,problem\n"${PEM}",=1+1,before\nx,"two\nlines",\n"${PEM}",fine,\n`);
  const whole = startImport({ header, rows });
  const text = remainder({ ...whole, rows: whole.rows.slice(0, 2) });
  expect(text.split("\r\n")[0]).toBe("pem,notes,problem");
  expect(text).toContain("'=1+1");
  expect(text).toContain(`"'${PEM}"`);
  const again = await check(text);
  expect(again.rows).toMatchObject([
    { number: 2, entry: { pem: PEM, notes: "=1+1" } },
    { problem: "pem holds no certificate in PEM (-----BEGIN CERTIFICATE-----)." },
  ]);
});

test("a file that is no UTF-8, one that is too large, and one of too many rows are refused in a sentence", async () => {
  expect(readText(new Blob([new Uint8Array([0x70, 0xe4, 0x0a])]))).rejects.toThrow("CSV UTF-8");
  expect(readText(new Blob([new Uint8Array(65 * 1_048_576)]))).rejects.toThrow("at most 64");
  expect(await readText(new Blob(["\ufeffpem"]))).toBe("pem");
  expect(readRecords("a,b\n".repeat(10_010))).rejects.toThrow("more than 10,000 rows");
});

test.each(['"', '"a" b,', "a,\n", "\n", '"",'])("reading takes time in proportion to the text: %j", async (piece) => {
  const text = (size: number) => `pem,notes\n${piece.repeat(size)}`;
  const growth = growthOf(text, (each) => void readRecords(each).catch(() => {}), { to: 8_192 });
  expect({ growth, isFine: growth < SUPER_LINEAR }).toEqual({ growth, isFine: true });
});
