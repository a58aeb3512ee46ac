export type Severity = "info" | "warning" | "critical";

/** The part of a message that is stored: the words of one event, or of several of one kind, and the facts of the first hundred. */
export type Content = {
  kind: string;
  severity: Severity;
  title: string;
  message: string;
  /** A path of this server. */
  link: string;
  count: number;
  items: { id: string; words: string; facts: Record<string, unknown> }[];
  occurredAt: string;
};

/** A message to a channel. Titles and names are as others chose them: each format makes them harmless in its own way. */
export type Message = Content & {
  /** Of the delivery: the same at each attempt, so that a receiver knows a double. */
  id: string;
  organization: { id: string; name: string };
  /** The address of its page; undefined where the server does not know its own address. */
  url: string | undefined;
  /** The state that it is about: open until it is resolved under the same key. */
  incident: { key: string; isResolved: boolean } | undefined;
  isTest: boolean;
};

/** Lines that one message lists. */
const MAX_LINES = 50;

/** Returns a line for each of several events, no more than a person reads. */
export function linesOf({ items, count }: Pick<Message, "items" | "count">): string[] {
  if (count < 2) return [];
  const lines = items.slice(0, MAX_LINES).map(({ words }) => words);
  return count > lines.length ? [...lines, `and ${count - lines.length} more`] : lines;
}

/** The headline: a test says so. */
export const headline = ({ title, isTest }: Pick<Message, "title" | "isTest">) => (isTest ? `Test: ${title}` : title);

/** Returns at most `max` characters; a longer text ends with an ellipsis. */
export function shorten(text: string, max: number) {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
