import { unavailability } from "#db/failures";
import { TryAgain } from "../rules";

const MAX_LENGTH = 500;
const UNAVAILABLE = {
  away: "The database is away or too slow.",
  exhausted: "The database has no disk, memory or connection left.",
  "locked out": "The database does not let the server in.",
};

/**
 * Returns a sentence for platform staff. Only words of our own are shown: what a library or the database says may hold what
 * someone has stored.
 */
export function describeFailure(error: unknown): string {
  const isOfJob = (error instanceof TryAgain || error instanceof AggregateError) && error.message !== "";
  if (isOfJob) return asSentence(error.message).slice(0, MAX_LENGTH);
  const reason = unavailability(error);
  if (reason) return UNAVAILABLE[reason];
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === "PostgresError") return `The database refuses a statement (SQLSTATE ${code}). The server's log says more.`;
  return `It failed in a way that was not foreseen (${error instanceof Error ? error.constructor.name : typeof error}). The server's log says more.`;
}

const asSentence = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;
