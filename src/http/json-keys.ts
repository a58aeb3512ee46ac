import { Refusal } from "./errors";

/** Bytes after which other requests have their turn: a few milliseconds. */
const SLICE = 1024 * 1024;
/** A path is quoted no further than this. */
const MAX_PATH = 200;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const decoder = new TextDecoder();

type Scan = { index: number; isInText: boolean };
/** An object that is open, with its keys so far, or a list, which has none; `name` leads to what is read in it. */
type Level = { keys: Set<string> | undefined; name: string | number };
type Search = Scan & { levels: Level[]; textStart: number; textEnd: number; doubled: string | undefined };

/**
 * Refuses valid JSON with a repeated field name, which readers understand differently (RFC 8259, 4). The parser kept `keys`;
 * only where `bytes` have more colons than that are the names compared.
 */
export async function refuseDoubledKeys(bytes: Uint8Array, keys: number) {
  const colons = { index: 0, isInText: false, count: 0 };
  countColons(bytes, colons, SLICE);
  while (colons.index < bytes.length) await takeTurns(() => countColons(bytes, colons, colons.index + SLICE));
  if (colons.count === keys) return;
  const search: Search = { index: 0, isInText: false, levels: [], textStart: 0, textEnd: 0, doubled: undefined };
  while (search.doubled === undefined && search.index < bytes.length) await takeTurns(() => findDoubled(bytes, search, search.index + SLICE / 16));
  throw new Refusal(400, `body.${search.doubled?.toWellFormed().slice(0, MAX_PATH)} is there twice: send each field once.`);
}

async function takeTurns(scan: () => void) {
  await Bun.sleep(0);
  scan();
}

/** Counts the colons outside of texts up to `end`: there is one for each key. */
function countColons(bytes: Uint8Array, scan: Scan & { count: number }, end: number) {
  let { index, isInText, count } = scan;
  for (const until = Math.min(end, bytes.length); index < until; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) isInText = !isInText;
    else if (byte === BACKSLASH) index++;
    else if (byte === COLON && !isInText) count++;
  }
  Object.assign(scan, { index, isInText, count });
}

/** Reads keys up to `end`, or to the first that its object has already: `doubled` is its path, such as `samples.3.labels`. */
function findDoubled(bytes: Uint8Array, search: Search, end: number) {
  for (const until = Math.min(end, bytes.length); search.index < until && search.doubled === undefined; search.index++) {
    const byte = bytes[search.index];
    if (byte === BACKSLASH) search.index++;
    else if (byte === QUOTE) noteText(search);
    else if (!search.isInText) noteStructure(bytes, search, byte);
  }
}

function noteText(search: Search) {
  search.isInText = !search.isInText;
  if (search.isInText) search.textStart = search.index;
  else search.textEnd = search.index + 1;
}

function noteStructure(bytes: Uint8Array, search: Search, byte: number | undefined) {
  const { levels, textStart, textEnd } = search;
  const level = levels.at(-1);
  if (byte === OPEN_OBJECT) levels.push({ keys: new Set(), name: "" });
  else if (byte === OPEN_LIST) levels.push({ keys: undefined, name: 0 });
  else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) levels.pop();
  else if (byte === COMMA && level && !level.keys) level.name = Number(level.name) + 1;
  else if (byte === COLON && level?.keys) {
    const key: string = JSON.parse(decoder.decode(bytes.subarray(textStart, textEnd)));
    level.name = key;
    if (level.keys.has(key)) search.doubled = levels.map(({ name }) => name).join(".");
    level.keys.add(key);
  }
}
