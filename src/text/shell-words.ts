const PLAIN = /^[\w./:@=+-]+$/;

/** Returns the word as a shell reads it back, unchanged. */
export const quoteWord = (word: string) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
export const quoteWords = (words: readonly string[]) => words.map(quoteWord).join(" ");

/** A quoted piece, an escaped character, a run of plain characters, or a run of white space. */
const PIECE = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\([^\n])|([^\s'"\\$`;&|<>()*?[\]{}~#!\n]+)|(\s+)/gsy;

/**
 * Returns the words of a command line as a shell would split it, or undefined where a shell would do more than that: variables, patterns,
 * other commands, redirections, or a quote that is not closed.
 */
export function splitWords(line: string) {
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const { 0: piece, 1: single, 2: double, 3: escaped, 4: plain, 5: space } of line.matchAll(PIECE)) {
    end += piece.length;
    if (double !== undefined && /(?<!\\)[$`]/.test(double)) return undefined;
    if (space === undefined) word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? "");
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return end === line.length && words.length > 0 ? words : undefined;
}
