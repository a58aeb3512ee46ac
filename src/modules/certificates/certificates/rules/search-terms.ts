const MAX_WORDS = 1_000;
const MAX_WORD = 60;

/** The words that a search finds: runs of letters and digits, in lower case. */
export function searchWords(text: string) {
  const words = text
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)
    .take(MAX_WORDS);
  return [...new Set(words.map(([word]) => cut(word)))];
}

const cut = (word: string) => (word.length <= MAX_WORD ? word : [...word.slice(0, 2 * MAX_WORD)].slice(0, MAX_WORD).join(""));
