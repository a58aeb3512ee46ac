import { type AllowedNames, listFault } from "./names";

export const USAGES = ["server", "client", "both"] as const;
const DAY = 86_400;

/** The kind of certificates that an authority issues. Lifetimes are in seconds. */
export type Profile = AllowedNames & { name: string; usage: (typeof USAGES)[number]; defaultLifetimeSeconds: number; maxLifetimeSeconds: number };

export const LIFETIME = { min: 60, max: 825 * DAY, default: 90 * DAY, defaultMax: 398 * DAY };

/** The profiles of a new authority that names none. */
export const DEFAULT_PROFILES: Profile[] = USAGES.map((usage) => readProfile({ name: usage, usage }));

type SentProfile = { [Field in keyof Profile]?: Profile[Field] | undefined } & Pick<Profile, "name" | "usage">;

/** A profile with its defaults. */
function readProfile({ name, usage, defaultLifetimeSeconds, maxLifetimeSeconds, allowedDomains, allowedAddresses, allowsWildcards }: SentProfile): Profile {
  return {
    name,
    usage,
    defaultLifetimeSeconds: defaultLifetimeSeconds ?? Math.min(LIFETIME.default, maxLifetimeSeconds ?? LIFETIME.default),
    maxLifetimeSeconds: maxLifetimeSeconds ?? Math.max(LIFETIME.defaultMax, defaultLifetimeSeconds ?? 0),
    allowedDomains: allowedDomains ?? null,
    allowedAddresses: allowedAddresses ?? null,
    allowsWildcards: allowsWildcards ?? false,
  };
}

/** The profiles with their defaults, or what is wrong with them. */
export function readProfiles(at: string, given: readonly SentProfile[]): { profiles: Profile[] } | { invalid: string } {
  const profiles = given.map(readProfile);
  for (const [index, { name, defaultLifetimeSeconds, maxLifetimeSeconds, allowedDomains, allowedAddresses }] of profiles.entries()) {
    const here = `${at}.${index}`;
    if (profiles.findIndex((each) => each.name === name) < index) return { invalid: `${here}.name is the name of another profile.` };
    if (defaultLifetimeSeconds > maxLifetimeSeconds) return { invalid: `${here}.defaultLifetimeSeconds must not be more than maxLifetimeSeconds.` };
    const invalid = listFault(here, { domains: { allowedDomains }, networks: { allowedAddresses } });
    if (invalid) return { invalid };
  }
  return { profiles };
}

/** The profile of this name, or the first one where none is named. */
export const findProfile = (profiles: readonly Profile[], name: string | null) => (name === null ? profiles[0] : profiles.find((each) => each.name === name));
