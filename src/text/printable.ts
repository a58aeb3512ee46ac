/**
 * Control characters, those that change the direction or the width of text, and halves of characters: a terminal obeys some,
 * and shows none.
 */
const INVISIBLE = /\p{C}|[\u2028\u2029]/gu;

/** Returns text that a terminal shows as it is, on one line. */
export const printable = (text: string) => text.replace(INVISIBLE, "\uFFFD");

/** The same for text of several lines. */
export const printableLines = (text: string) => text.split("\n").map(printable).join("\n");

/** Returns JSON, laid out for a person, in which such characters are escaped. */
export const printableJson = (value: unknown) => JSON.stringify(value, null, 2).split("\n").map(escapeInvisible).join("\n");

/** Returns text in which each of them is an escape, such as `\\u001b`: nothing is lost, as a log needs it. */
export const escapeInvisible = (line: string) =>
  line.replace(INVISIBLE, (each) => [...Array(each.length).keys()].map((index) => unitOf(each.charCodeAt(index))).join(""));
const unitOf = (code: number) => `\\u${code.toString(16).padStart(4, "0")}`;
