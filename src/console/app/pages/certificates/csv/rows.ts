import { toError } from "../../../errors";
import { fromCell, isFormula } from "../../../parts/csv";
import type { CsvRecord } from "./read";

/** A row, as a certificate is imported and described by it. An empty cell changes nothing. */
export type CertificateEntry = {
  pem: string;
  privateKeyPem?: string;
  ownerId?: string;
  contacts?: string[];
  labels?: Record<string, string>;
  notes?: string;
};
export type CheckedRow = { number: number; cells: string[] } & ({ entry: CertificateEntry } | { problem: string });
export type Table = { header: string[]; rows: CheckedRow[] };

/** PEM begins with a character of formulas, and is no formula. */
const PEM_COLUMNS = ["pem", "privateKeyPem"];
export const COLUMNS = [...PEM_COLUMNS, "owner", "contacts", "labels", "notes"] as const;
/** Of a file that was saved here: why a row was not imported. */
export const PROBLEM = "problem";

/**
 * Checks every row before one is sent, with `owners` as ids of active members by e-mail address. Throws a sentence for a
 * header that is none.
 */
export function checkTable([first, ...records]: CsvRecord[], owners: Map<string, string>): Table {
  const header = readHeader(first?.cells ?? []);
  if (records.length === 0) throw new Error("There is no row below the header.");
  return { header, rows: records.map((record) => checkRow(record, header, owners)) };
}

function readHeader(cells: string[]) {
  const header = cells.map((cell) => [...COLUMNS, PROBLEM].find((name) => name.toLowerCase() === cell.trim().toLowerCase()) ?? cell.trim());
  const strange = header.find((name) => ![...COLUMNS, PROBLEM].includes(name));
  const fault =
    strange !== undefined
      ? `${JSON.stringify(strange.slice(0, 60))} is no column.`
      : new Set(header).size < header.length
        ? "A column is named twice."
        : header.includes("pem")
          ? undefined
          : "The column pem is missing.";
  if (fault) throw new Error(`The first row names the columns: pem, and those that you need of ${COLUMNS.slice(1).join(", ")}. ${fault}`);
  return header;
}

function checkRow({ number, cells, fault }: CsvRecord, header: string[], owners: Map<string, string>): CheckedRow {
  const row = { number, cells };
  if (fault) return { ...row, problem: fault };
  if (cells.length !== header.length)
    return { ...row, problem: `The row has ${cells.length} ${cells.length === 1 ? "cell" : "cells"}, and the header ${header.length}.` };
  const named = header.map((name, index) => [name, cells[index] ?? ""] as const).filter(([name]) => name !== PROBLEM);
  const formula = named.find(([name, cell]) => isFormula(cell) && !(PEM_COLUMNS.includes(name) && cell.startsWith("-----BEGIN ")));
  if (formula) return { ...row, problem: describeFormula(formula[0], formula[1]) };
  const values = Object.fromEntries(named.map(([name, cell]) => [name, fromCell(cell).trim()]));
  try {
    return { ...row, entry: readEntry(values, owners) };
  } catch (error) {
    return { ...row, problem: toError(error).message };
  }
}

const describeFormula = (name: string, cell: string) =>
  `${name} begins with ${JSON.stringify(cell.trimStart().charAt(0) || cell.charAt(0))}: a spreadsheet would compute it. Put a single quote (') before it, and it is kept as text.`;

type Cells = Partial<Record<string, string>>;

function readEntry({ pem = "", privateKeyPem, owner, contacts, labels, notes }: Cells, owners: Map<string, string>): CertificateEntry {
  if (!pem.includes("-----BEGIN ")) throw new Error("pem holds no certificate in PEM (-----BEGIN CERTIFICATE-----).");
  return {
    pem,
    ...(privateKeyPem && { privateKeyPem }),
    ...(owner && { ownerId: findOwner(owner, owners) }),
    ...(contacts && { contacts: listOf(contacts) }),
    ...(labels && { labels: Object.fromEntries(listOf(labels).map(readLabel)) }),
    ...(notes && { notes }),
  };
}

const listOf = (cell: string) => cell.split(/[;,\n]/).flatMap((each) => each.trim() || []);

function findOwner(owner: string, owners: Map<string, string>) {
  const id = owners.get(owner.toLowerCase());
  if (id === undefined) throw new Error(`owner is ${JSON.stringify(owner.slice(0, 100))}, and no active member has this e-mail address.`);
  return id;
}

function readLabel(label: string): [string, string] {
  const at = label.indexOf("=");
  if (at < 1) throw new Error(`labels has ${JSON.stringify(label.slice(0, 100))}: write name=value, and a semicolon between two.`);
  return [label.slice(0, at).trim(), label.slice(at + 1).trim()];
}
