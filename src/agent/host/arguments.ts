declare const judged: unique symbol;

/** A word of a call that was judged: the compiler takes no other text for one. */
export type Word = string & { readonly [judged]: true };
/** A call of a program: its name and arguments. */
export type Argv = readonly string[] & { readonly [judged]: true };

/**
 * Text that this program writes itself, letter by letter: neither a `string`, which was read from elsewhere, nor a template
 * that holds one.
 */
type Literal<Text> = Text extends string ? (Record<never, 1> extends Record<Text, 1> ? never : Text) : never;
type Judged<Part> = Part extends Word | readonly Word[] | Argv ? Part : Literal<Part>;

/** Builds a call from words that this program writes itself, and from those of the host and the server, which were judged. */
export const argvOf = <const Parts extends readonly unknown[]>(...parts: { [Index in keyof Parts]: Judged<Parts[Index]> }): Argv =>
  (parts as unknown[]).flat() as unknown as Argv;

/** A word of this host: a program or path that it has, or a file that the agent has made. */
export const hostWord = (text: string) => text as Word;

/** Text before a word, as one argument with it. */
export const joined = <Text extends string>(before: Literal<Text>, word: Word) => `${before}${word}` as Word;

/** A call that the host's policy permits word for word, or that the agent made of such a one. */
export const permittedCall = (words: readonly string[]) => words as Argv;

/**
 * A word that the server chose, or another user of this host. Throws where a tool would read something else than a name or a
 * path: an option (`-`), a file of more words (`@`), no word, or a second one.
 */
export function serverWord(text: string): Word {
  if (/^[-@]/.test(text))
    throw new Error(`${quoted(text)} cannot be the argument of a program: it begins with ${text[0]}, so that it would be read as an option.`);
  if (text === "" || text !== text.trim() || /\p{Cc}/u.test(text))
    throw new Error(`${quoted(text)} cannot be the argument of a program: it is empty, or begins or ends with space, or holds a control character.`);
  return text as Word;
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 100).replace(/\p{C}/gu, "�"));
