import { quoteWord, quoteWords } from "#text/shell-words";
import { grantFault } from "./parse";
import { type Grant, OPTIONS, type Policy } from "./policy";
import { describe, type Facts, grantFor, isPermitted, type Seen } from "./rules";

/** The denied operations, and the grants that would permit them; undefined where no policy could. */
export type Refusal = { denied: string[]; grants: Grant[] | undefined };

/** Returns what the policy does not permit of this, or undefined where it permits all. */
export function judge(demands: readonly Seen[], policy: Policy, facts: Facts): Refusal | undefined {
  const denied = demands.filter((each) => !isPermitted(each, policy, facts));
  if (denied.length === 0) return undefined;
  const grants = denied.map(grantFor).map((each) => (each && grantFault(each) === undefined ? each : undefined));
  return { denied: [...new Set(denied.map(describe))], grants: grants.includes(undefined) ? undefined : unique(grants.flatMap((each) => each ?? [])) };
}

const unique = (grants: Grant[]) => [...new Map(grants.map((each) => [JSON.stringify(each), each])).values()];

/** How the agent's commands are called on this host, and the policy file where it is not the usual one. */
export type Calling = { command: string; file: string | undefined };

/** Returns the command that permits it, for a shell. */
export function consentLine(grants: readonly Grant[], { command, file }: Calling) {
  const options = grants.map(
    ({ field, value }) => `${OPTIONS[field].name}${value === true ? "" : ` ${quoteWord(typeof value === "string" ? value : quoteWords(value))}`}`,
  );
  return [`${command} policy allow`, ...(file === undefined ? [] : [`--policy ${quoteWord(file)}`]), ...options].join(" ");
}

const MAX_MESSAGE = 1_000;
/** The words before the command. */
export const CONSENT = "An administrator of the host permits it by: ";

/** Returns the refusal in words that a report can hold whole: a command that was cut short would permit something else. */
export function refusalMessage({ denied, grants }: Refusal, calling: Calling) {
  const what = denied.map((each) => each.replace(/\p{C}/gu, "�")).join("; ");
  if (!grants) return shorten(`The policy of this host does not permit ${what}. No policy can: correct the assignment.`);
  const consent = CONSENT + consentLine(grants, calling);
  const whole = `The policy of this host does not permit ${what}. ${consent}`;
  if (whole.length <= MAX_MESSAGE) return whole;
  const brief = `The policy of this host does not permit this assignment. ${consent}`;
  if (brief.length <= MAX_MESSAGE) return brief;
  return shorten(
    "The policy of this host does not permit this assignment. The command that permits it is too long for a report: the agent's log on the host has it.",
  );
}

const shorten = (text: string) => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 2).toWellFormed()} …` : text);
