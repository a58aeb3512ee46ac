import { DerError } from "./der";

/** One block of a PEM text, in the text's order: its label, and its bytes or why they cannot be read. */
export type PemBlock = { label: string; bytes: Uint8Array } | { label: string; fault: string };

const BEGIN = /^-----BEGIN ([A-Z0-9 ]+)-----\s*$/;

/** The blocks of a PEM text (RFC 7468). Text around them is allowed; inside a block only base64 is. */
export function readPem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  for (let at = 0; at < lines.length; at++) {
    const label = BEGIN.exec(lines[at]?.trim() ?? "")?.[1];
    if (!label) continue;
    const next = lines.findIndex((line, index) => index > at && line.trim().startsWith("-----"));
    const ends = next > 0 && lines[next]?.trim() === `-----END ${label}-----`;
    blocks.push(ends ? readBlock(label, lines.slice(at + 1, next)) : { label, fault: `its line -----END ${label}----- is missing` });
    if (next < 0) break;
    at = ends ? next : next - 1;
  }
  return blocks;
}

function readBlock(label: string, lines: string[]): PemBlock {
  try {
    return { label, bytes: decodeBase64(lines.map((line) => line.replace(/[ \t]/g, ""))) };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { label, fault: error.message };
  }
}

function decodeBase64(lines: string[]) {
  while (lines.at(-1) === "") lines.pop();
  const text = lines.join("");
  if (lines.includes("") || !/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) throw new DerError("what stands inside is not base64");
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new DerError("what stands inside is not base64");
  return new Uint8Array(bytes);
}
