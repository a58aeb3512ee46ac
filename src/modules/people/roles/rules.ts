/** Why nothing proves a row, as the end of a sentence about it, … */
export const UNPROVEN = "was changed in the database, and not by this server, or an upgrade did not stamp it";
/** … and what helps, whatever the row is. */
export const TO_TRUST = "Ask who administers the server to look at it, and to run certitude secrets trust.";

/** The things that are noted to be held, … */
export const UNPROVEN_KINDS = ["assignments", "policies", "rollouts", "agents", "members", "apiTokens"] as const;
/** … and what that means. */
export const UNPROVEN_WORDS: Record<(typeof UNPROVEN_KINDS)[number], string> = {
  assignments: "Assignments that their hosts neither install nor remove",
  policies: "Assignment policies that give and take nothing",
  rollouts: "Rollouts and rotations that go no further",
  agents: "Agents that are not let in",
  members: "Members who count as no admins",
  apiTokens: "API tokens that count as no admin's",
};
