/**
 * Blocks of ours in a text that is not ours: lines between two marker lines that name the block. All else stays byte for byte, so texts are
 * read as latin1, which loses no byte.
 */

const BEGIN = "# BEGIN certitude ";
const END = "# END certitude ";
/** A piece of a block that lost a marker is known by two lines of it. */
const MIN_DISTINCTIVE_LINES = 2;

const split = (text: string) => text.split(/(?<=\n)/).filter(Boolean);
const bare = (line: string) => line.replace(/\r?\n$/, "");

/** Returns the block's lines; undefined where there is none, or a damaged one. */
export function readBlock(text: string, name: string) {
  const lines = split(text).map(bare);
  const place = findWhole(lines, name);
  return place && [...place].slice(1, -1).flatMap((index) => lines[index] ?? []);
}

export const holdsBlock = (text: string, name: string, content: string[]) => readBlock(text, name)?.join("\n") === content.join("\n");
export const hasMarker = (text: string, name: string) =>
  split(text)
    .map(bare)
    .some((line) => line === BEGIN + name || line === END + name);
export const blockNames = (text: string) => [...text.matchAll(/^# BEGIN certitude (.*?)\r?$/gm)].flatMap(([, name = ""]) => name);
export const outsideBlocks = (text: string) => blockNames(text).reduce((rest, name) => withoutBlock(rest, name), text);

/** The text with the block, a new one at its end; a file that does not end its last line still does not. */
export function withBlock(text: string, name: string, content: string[]) {
  if (holdsBlock(text, name, content)) return text;
  const rest = withoutBlock(text, name, content);
  const end = rest.includes("\r\n") ? "\r\n" : "\n";
  const block = [BEGIN + name, ...content, END + name].join(end);
  return rest === "" || rest.endsWith("\n") ? rest + block + end : rest + end + block;
}

/** The text without the block; of a damaged one goes what is left of `content` beside its markers. */
export function withoutBlock(text: string, name: string, content: string[] = []) {
  const lines = split(text);
  const whole = findWhole(lines.map(bare), name);
  const gone = whole ?? findRemnants(lines.map(bare), name, content);
  const rest = lines.filter((_, index) => !gone.has(index)).join("");
  // A whole block without the end of its last line was put after a line without one; a piece of a block was cut short, and says nothing.
  return text.endsWith("\n") || !whole ? rest : rest.replace(/\r?\n$/, "");
}

/** The lines of a sound block with its markers. */
function findWhole(lines: string[], name: string) {
  const [begin = -1, secondBegin] = indexesOf(lines, BEGIN + name);
  const [end = -1, secondEnd] = indexesOf(lines, END + name);
  if (begin < 0 || end < begin || secondBegin !== undefined || secondEnd !== undefined) return undefined;
  if (lines.slice(begin + 1, end).some((line) => line.startsWith(BEGIN) || line.startsWith(END))) return undefined;
  return new Set(indexesFrom(begin, 1, end - begin + 1));
}

/** The markers of a damaged block, and what is left of its content beside them. */
function findRemnants(lines: string[], name: string, content: string[]) {
  // The last line may have been cut short with the file.
  const isPiece = (index: number, line: string) => index === lines.length - 1 && lines[index] !== "" && line.startsWith(lines[index] ?? line);
  const beside = (marker: number, step: 1 | -1, wanted: string[]) => {
    const differs = wanted.findIndex((line, index) => {
      const at = marker + step * (index + 1);
      return lines[at] !== line && !isPiece(at, line);
    });
    const run = differs < 0 ? wanted.length : differs < MIN_DISTINCTIVE_LINES ? 0 : differs;
    return indexesFrom(marker, step, run + 1);
  };
  const begins = indexesOf(lines, BEGIN + name).flatMap((index) => beside(index, 1, content));
  const ends = indexesOf(lines, END + name).flatMap((index) => beside(index, -1, content.toReversed()));
  return new Set([...begins, ...ends]);
}

const indexesOf = (lines: string[], wanted: string) => lines.flatMap((line, index) => (line === wanted ? index : []));
const indexesFrom = (start: number, step: 1 | -1, length: number) => Array.from({ length }, (_, index) => start + step * index);
