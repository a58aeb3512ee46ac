const MAX_WORDS = 1_000;
const MAX_WORD = 60;

/** The words that a search finds: runs of letters and digits, in lower case. */
export function searchWords(text: string) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.slice(0, MAX_WORDS).map((word) => [...word].slice(0, MAX_WORD).join("")))];
}
