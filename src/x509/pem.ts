import { DerError } from "./der";

/** One block of a PEM text, in the text's order: its label, and its bytes or why they cannot be read. */
export type PemBlock = { label: string; bytes: Uint8Array } | { label: string; fault: string };

/** A line that begins with dashes, white space before it aside. Each character is read once. */
const BORDER = /(?:^|[\r\n])[^\S\r\n]*(-----[^\r\n]*)/g;
const BEGIN = /^-----BEGIN ([A-Z0-9 ]{1,64})-----$/;
/** In characters: longer blocks would stop other requests while they are parsed. */
const MAX_BLOCK = 512 * 1024;

/** Returns the blocks of a PEM text (RFC 7468). Text around them is allowed; inside a block only base64 is. */
export const readPem = (text: string) => [...scanPem(text)].filter((each) => each !== undefined);

/** As `readPem`, one by one. Yields undefined for a line of dashes that belongs to no block, so that the caller can pause. */
export function* scanPem(text: string): Generator<PemBlock | undefined> {
  let open: { label: string; start: number } | undefined;
  for (const border of text.matchAll(BORDER)) {
    const line = border[1]?.trimEnd() ?? "";
    if (open && line === `-----END ${open.label}-----`) {
      yield readBlock(open.label, text.slice(open.start, border.index));
      open = undefined;
      continue;
    }
    yield open && withoutEnd(open.label);
    const label = BEGIN.exec(line)?.[1];
    open = label === undefined ? undefined : { label, start: border.index + border[0].length };
  }
  if (open) yield withoutEnd(open.label);
}

const withoutEnd = (label: string): PemBlock => ({ label, fault: `its line -----END ${label}----- is missing` });

function readBlock(label: string, text: string): PemBlock {
  if (text.length > MAX_BLOCK) return { label, fault: `it is larger than ${MAX_BLOCK / 1024} KiB` };
  try {
    return {
      label,
      bytes: decodeBase64(text.replace(/[ \t]/g, "").trimEnd()),
    };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { label, fault: error.message };
  }
}

/** `text` begins with the end of a line, and each line must hold something. */
function decodeBase64(text: string) {
  const content = text.replace(/\r\n|\n|\r/g, "");
  const isFilled = !/[\r\n]{2}/.test(text.replaceAll("\r\n", "\n"));
  if (!isFilled || !/^[A-Za-z0-9+/]+={0,2}$/.test(content) || content.length % 4 !== 0) throw new DerError("what stands inside is not base64");
  const bytes = Buffer.from(content, "base64");
  if (bytes.toString("base64") !== content) throw new DerError("what stands inside is not base64");
  return new Uint8Array(bytes);
}
