import { sha256 } from "#crypto/sha256";
import type { Profile } from "./profiles";

/** Settings that change nothing of what is issued: whom a CA writes to, and how names are proven. */
const ASIDE = ["contact", "termsOfServiceAgreed", "challenges"];

type Behind = { kind: string; config: Record<string, unknown> };

/** Returns the digest of what an approval is for besides the order itself: who issues, and by which profile of an authority of ours. */
export function termsOf({ kind, config }: Behind, profile: Profile | undefined) {
  const settings = Object.entries(config).filter(([name]) => !ASIDE.includes(name));
  return sha256(JSON.stringify([kind, sorted(settings), profile ? sorted(Object.entries(profile)) : null]));
}

const sorted = (entries: [string, unknown][]) => entries.toSorted(([one], [other]) => (one < other ? -1 : 1));

/** The profile that counts for an order: its own or that of the issuer; null for the authority's first. */
export const profileNameOf = (profile: string | null, config: Behind["config"]) => profile ?? (typeof config.profile === "string" ? config.profile : null);
