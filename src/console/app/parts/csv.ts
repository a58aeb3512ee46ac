/** A spreadsheet computes what begins with one of these: a quote before it makes it text. */
const FORMULA = /^[\t\r]|^\s*[=+\-@]/;
const QUOTED = /^'[\s=+\-@]/;

export const isFormula = (cell: string) => FORMULA.test(cell);

/** A line of CSV (RFC 4180) that no spreadsheet computes anything of. */
export const toCsvLine = (cells: string[]) => `${cells.map(toCell).join(",")}\r\n`;

function toCell(text: string) {
  const harmless = isFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Returns a cell that `toCsvLine` wrote, without the quote that made it text. */
export const fromCell = (cell: string) => (QUOTED.test(cell) && isFormula(cell.slice(1)) ? cell.slice(1) : cell);
