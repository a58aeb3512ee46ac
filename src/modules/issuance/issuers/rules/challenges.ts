import { checkFields, type Values } from "#catalogue/fields";
import { CATALOGUE, PROVIDERS } from "#modules/issuance/dns/rules/providers";
import { readDnsSettings } from "#modules/issuance/dns/rules/settings";
import type { SecretField } from "./kinds";

const CHALLENGE_TYPES = ["http-01", "dns-01"] as const;
type ChallengeType = (typeof CHALLENGE_TYPES)[number];
export type Challenge = { type: ChallengeType } & Values;

const DEFAULT: Challenge[] = [{ type: "http-01" }];
const MAX_CHALLENGES = 10;

/** Secrets of the challenges' solvers, none of which every issuer has. Where a challenge changes, they may go elsewhere. */
export const CHALLENGE_SECRETS: SecretField[] = CATALOGUE.flatMap(({ secretFields }) =>
  secretFields.map((field) => ({ ...field, required: false, goesBy: ["challenges"] })),
);

type Rules = { secrets: Values; allowPrivate: boolean };

/** The ways in which an ACME issuer proves control of names, in the order in which they are tried, or the first fault. */
export function readChallenges(given: unknown, rules: Rules): { challenges: Challenge[] } | { invalid: string } {
  if (given === undefined) return { challenges: DEFAULT };
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_CHALLENGES)
    return { invalid: `body.config.challenges must be a list of 1 to ${MAX_CHALLENGES} items.` };
  const challenges: Challenge[] = [];
  for (const [index, each] of given.entries()) {
    const read = readChallenge(each, `body.config.challenges[${index}]`, rules);
    if ("invalid" in read) return read;
    challenges.push(read.challenge);
  }
  return { challenges };
}

function readChallenge(given: unknown, at: string, rules: Rules): { challenge: Challenge } | { invalid: string } {
  const { type: named, ...rest } = given !== null && typeof given === "object" && !Array.isArray(given) ? (given as Values) : {};
  const type = CHALLENGE_TYPES.find((each) => each === named);
  if (!type) return { invalid: `${at}.type must be one of ${CHALLENGE_TYPES.join(", ")}.` };
  if (type === "dns-01") return readDnsChallenge(rest, at, rules);
  const read = checkFields([], rest, { at, owner: type });
  return "invalid" in read ? read : { challenge: { type } };
}

function readDnsChallenge(
  { provider: named, ...config }: Values,
  at: string,
  { secrets, allowPrivate }: Rules,
): { challenge: Challenge } | { invalid: string } {
  const provider = PROVIDERS.find((each) => each === named);
  if (!provider) return { invalid: `${at}.provider must be one of ${PROVIDERS.join(", ")}.` };
  const read = readDnsSettings({ provider, config, secrets }, { allowPrivate, configAt: at, secretsAt: "body.secrets" });
  return "invalid" in read ? read : { challenge: { type: "dns-01", provider, ...read.config } };
}

/** True where a wildcard can be proven: no challenge but dns-01 does (RFC 8555, 7.1.3 and the CA/Browser Forum's rules). */
export const provesWildcards = (config: Values) => !Array.isArray(config.challenges) || config.challenges.some(({ type }: Challenge) => type === "dns-01");
