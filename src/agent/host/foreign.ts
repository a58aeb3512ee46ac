/**
 * Marks words that are neither the agent's own nor the server's, such as a tool's, a peer's or a path that was found: the log
 * shows them, reports do not.
 */
export const foreign = (words: string) => `‹${words.replace(/[‹›]/g, "'")}›`;

/** The marked words of a message; a mark that was not closed takes all that follows. */
export const FOREIGN = /‹[^›]*(?:›|$)/g;

/** Returns a message without its marks, for a person on this host. */
export const unmarked = (message: string) => message.replace(/[‹›]/g, "");

/** Returns an error as a sentence of the agent's own; of an error of the system all but its code is marked. */
export function sentenceOf(error: Error) {
  if (error.name === "Error" && !("code" in error)) return error.message;
  const code = "code" in error && typeof error.code === "string" && /^\w{1,60}$/.test(error.code) ? error.code : error.name;
  return `Something failed on this host (${code}): ${foreign(error.message)}.`;
}
