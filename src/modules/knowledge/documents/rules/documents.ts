const LONGEST = 1_500;
/** A passage reaches at least so far before it may end at a border. */
const SHORTEST = 900;
const OVERLAP = 150;

const PARAGRAPH = /\n[^\S\n]*\n\s*/g;
const SENTENCE = /[.!?…]["'’”)\]]*\s+|[。！？]/g;
const LINE = /\n\s*/g;
const WORD = /\s+/g;

/**
 * Cuts a text into passages of about 1,000 to 1,500 characters, at the end of a paragraph or sentence if it can. They overlap
 * by some sentences or words, so that a search finds text across a border.
 */
export function* splitPassages(whole: string) {
  const text = whole.trim();
  let start = 0;
  while (start < text.length) {
    const end = findEnd(text, start);
    yield text.slice(start, end).trim();
    if (end === text.length) return;
    start = findOverlap(text, end);
  }
}

function findEnd(text: string, start: number) {
  const limit = start + LONGEST;
  if (text.length <= limit) return text.length;
  const from = start + SHORTEST;
  const window = text.slice(from, limit);
  for (const border of [PARAGRAPH, SENTENCE, LINE, WORD]) {
    const last = [...window.matchAll(border)].at(-1);
    if (last) return from + last.index + last[0].length;
  }
  return startOfCharacter(text, limit);
}

/** Returns the start of the last sentences before `end`, or of the last words; `end` itself in the middle of a long word. */
function findOverlap(text: string, end: number) {
  const from = end - OVERLAP;
  const window = text.slice(from, end).trimEnd();
  for (const border of [SENTENCE, WORD]) {
    const [first] = window.matchAll(border);
    if (first && first.index + first[0].length < window.length) return from + first.index + first[0].length;
  }
  return skipSpace(text, end);
}

/** An index between two characters: one that would cut a surrogate pair moves before it. */
const startOfCharacter = (text: string, index: number) => (/^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(index - 1, index + 1)) ? index - 1 : index);

function skipSpace(text: string, index: number) {
  const next = text.slice(index).search(/\S/);
  return next === -1 ? text.length : index + next;
}

const KINDS: [RegExp, string][] = [
  [/\.(txt|text)$/i, "text/plain"],
  [/\.(md|markdown)$/i, "text/markdown"],
  [/\.html?$/i, "text/html"],
];
const ACCEPTED = "It must be plain text (.txt), Markdown (.md) or HTML (.html), in UTF-8.";
/** How HTML begins, whatever the file is called; comments may stand before it. */
const FIRST_TAG = /^<(!doctype\s+html|html|head|body)[\s>]/i;

/** The kind of an uploaded file, by its name and what is inside; `invalid` says why it cannot be taken. */
export function readKind(fileName: string, bytes: Uint8Array): { mediaType: string } | { invalid: string } {
  const named = KINDS.find(([pattern]) => pattern.test(fileName))?.[1];
  if (!named) return { invalid: `body.file is called "${fileName}". ${ACCEPTED}` };
  const text = decode(bytes);
  if (text === undefined || text.includes("\0")) return { invalid: `body.file is not text in UTF-8. ${ACCEPTED}` };
  if (text.startsWith("%PDF-")) return { invalid: `body.file is a PDF. ${ACCEPTED}` };
  if (text.trim() === "") return { invalid: "body.file is empty." };
  return { mediaType: looksLikeHtml(text.slice(0, 10_000)) ? "text/html" : named };
}

function looksLikeHtml(beginning: string) {
  let rest = beginning.trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->", 4);
    if (end === -1) return false;
    rest = rest.slice(end + 3).trimStart();
  }
  return FIRST_TAG.test(rest);
}

function decode(bytes: Uint8Array) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return;
  }
}

const LONGEST_NAME = 200;

/** A name that is safe in a header, a log and a folder: the last part of a path, without control characters. */
export function cleanFileName(given: string) {
  const last = given.toWellFormed().normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const clean = last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"]/gu, "").trim();
  if (clean.length <= LONGEST_NAME) return clean;
  const ending = /\.\w{1,8}$/.exec(clean)?.[0] ?? "";
  return [...clean.slice(0, LONGEST_NAME - ending.length)].join("").toWellFormed() + ending;
}

/** The position of the first chunk whose index came before. */
export function repeatedIndex(chunks: { chunkIndex: number }[]) {
  const seen = new Set<number>();
  const position = chunks.findIndex(({ chunkIndex }) => seen.size === seen.add(chunkIndex).size);
  return position === -1 ? undefined : position;
}
