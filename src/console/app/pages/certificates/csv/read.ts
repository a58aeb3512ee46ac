import Papa, { type LocalFile, type ParseLocalConfig } from "papaparse";

/** A record of a CSV text: `number` as a spreadsheet counts rows, from 1. */
export type CsvRecord = { number: number; cells: string[]; fault?: string };

/** Characters that are read at once: the page answers in between. */
const SLICE = 256 * 1024;
const MAX_RECORDS = 10_000;
const MAX_MIB = 64;
const QUOTE_FAULT = 'A cell begins with " and does not end with it. Inside of such a cell write "" for ".';

/** The text of a file in UTF-8; throws a sentence where it is none, or too large. */
export async function readText(file: Blob) {
  const mebibytes = Math.ceil(file.size / 1_048_576);
  if (mebibytes > MAX_MIB) throw new Error(`The file has ${mebibytes} MiB, and at most ${MAX_MIB} are read. Split it.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("The file is no text in UTF-8. Save it as “CSV UTF-8” in your spreadsheet.");
  }
}

/** Returns the delimiter that the first line has most of: the names of columns hold none. */
function separatorOf(text: string) {
  const [header = ""] = text
    .slice(0, SLICE)
    .trimStart()
    .split(/[\r\n]/, 1);
  const [separator = ","] = [",", ";", "\t"].toSorted((one, other) => header.split(other).length - header.split(one).length);
  return separator;
}

/** Returns the records that are not empty. Commas, semicolons or tabs separate the cells, whichever the text uses. */
export function readRecords(text: string): Promise<CsvRecord[]> {
  const records: CsvRecord[] = [];
  let count = 0;
  return new Promise((resolve, reject) => {
    const config: ParseLocalConfig<string[], LocalFile> = {
      chunkSize: SLICE,
      delimiter: separatorOf(text),
      chunk({ data, errors }, parser) {
        const faulty = new Set(errors.flatMap(({ type, row }) => (type === "Quotes" && row !== undefined ? [row] : [])));
        for (const [index, cells] of data.entries()) {
          const isEmpty = cells.every((cell) => cell === "");
          if (!isEmpty) records.push({ number: count + index + 1, cells, ...(faulty.has(index) && { fault: QUOTE_FAULT }) });
        }
        count += data.length;
        if (records.length > MAX_RECORDS + 1) {
          reject(new Error(`There are more than ${MAX_RECORDS.toLocaleString()} rows. Split them into several files.`));
          return parser.abort();
        }
        parser.pause();
        setTimeout(() => parser.resume());
      },
      complete: () => resolve(records),
    };
    Papa.parse(text as unknown as LocalFile, config); // its types know slices of files alone
  });
}
