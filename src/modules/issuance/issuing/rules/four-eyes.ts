import type { Actor } from "#modules/people/audit/queries";

/** The part of a user in something that another admin is to approve: `vouch` for what no user is known to have asked for, or `decide`. */
export type Voice = "vouch" | "decide" | { forbidden: string };

/**
 * Judges whether this actor may decide on what `authorId`, the user behind its author, asked for. Null: no user is known, so that it takes
 * two.
 */
export function judgeVoice(authorId: string | null, actor: Actor, what: string): Voice {
  if (actor.type !== "user") return { forbidden: "An approval needs the token of a user: this caller is known by headers or by an API token alone." };
  if (authorId === null) return "vouch";
  return authorId === actor.id ? { forbidden: `Another admin than the author of the ${what} decides on it.` } : "decide";
}
