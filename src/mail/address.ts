import { domainToASCII } from "node:url";

/** An e-mail address, and the name that stands beside it, which may be empty. */
export type Address = { name: string; address: string };

const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+$/i;
const LABEL = /^[a-z0-9-]{1,63}$/;
/** ASCII that no domain holds; the conversion would cut the domain there, or read it as an escape. */
const FOREIGN = /[^\p{L}\p{M}\p{N}.-]/u;
/** Ends lines, turns or hides the text around it, or is not seen itself. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Returns the address with its domain in lower-case ASCII (punycode), so that look-alike letters show; undefined when it is no address. */
export function toAscii(text: string) {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, at);
  const given = text.slice(at + 1);
  if (at < 1 || local.length > MAX_LOCAL || !LOCAL.test(local) || FOREIGN.test(given)) return;
  const domain = domainToASCII(given);
  if (domain.length > MAX_DOMAIN || !domain.split(".").every((label) => LABEL.test(label))) return;
  return `${local}@${domain}`;
}

/** Reads `ada@example.org` or `Ada Lovelace <ada@example.org>`; undefined when it is neither. */
export function readAddress(text: string): Address | undefined {
  const opening = text.endsWith(">") ? text.lastIndexOf("<") : -1;
  const address = toAscii(opening < 0 ? text.trim() : text.slice(opening + 1, -1));
  const name = opening < 0 ? "" : text.slice(0, opening).trim();
  if (!address || toLine(name) !== name) return;
  const isQuoted = name.length > 1 && name.startsWith('"') && name.endsWith('"');
  return { name: isQuoted ? name.slice(1, -1) : name, address };
}

/** Returns text that others chose as part of one line: what would end the line, or turn or hide the text around it, becomes a space. */
export const toLine = (text: string) => text.replace(UNSEEN, " ").trim();

const MAX_NAME = 80;
/** Characters that join the parts of an address or a link. */
const JOINT = /[.:@](?=\S)/g;

/**
 * Returns a name that others chose as a mail to a stranger shows it: short, in one line, and with nothing in it that a reader makes a link
 * of.
 */
export const showName = (name: string) => [...toLine(name)].slice(0, MAX_NAME).join("").replace(JOINT, "$& ");

const WORD = /[\p{L}\p{M}\p{N}\p{Join_Control}.-]+/gu;
const INNER_DOT = /[^.]\.[^.]/;
const LATIN = /\p{Script=Latin}/u;
/** Letters of scripts that have the shapes of Latin ones, and joiners, which have none. */
const LOOK_ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\u200c\u200d]/gu;

/** Returns the text with its domains in punycode where their letters are of scripts that look alike: `xn--80ak6aa92e.com`. */
export const showLookAlikes = (text: string) =>
  text.replace(WORD, (word) =>
    INNER_DOT.test(word) && LATIN.test(word) && word.search(LOOK_ALIKE) >= 0 ? domainToASCII(word) || word.replace(LOOK_ALIKE, "?") : word,
  );
