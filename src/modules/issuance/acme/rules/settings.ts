import type { HostProofType } from "#modules/issuance/issuing/rules/host-proofs";
import { isRecord, Unusable } from "./problems";

const CHALLENGE_TYPES = ["http-01", "dns-01"] as const;
export type ChallengeType = (typeof CHALLENGE_TYPES)[number] | HostProofType;

/** A way to prove control of names; what else it holds is for its solver. */
export type ChallengeSettings = { type: ChallengeType } & Record<string, unknown>;

/** The config and the secrets of an ACME issuer. */
export type AcmeSettings = {
  directoryUrl: string;
  /** Mail addresses as URLs. */
  contact: string[];
  termsOfServiceAgreed: boolean;
  caBundlePem: string | undefined;
  preferredChain: string | undefined;
  profile: string | undefined;
  challenges: ChallengeSettings[];
  accountKeyPem: string;
  /** The next key of the account, from now on. */
  nextAccountKeyPem: string | undefined;
  externalAccount: { keyId: string; hmacKey: string } | undefined;
};

type StoredSettings = { config: Record<string, unknown>; secrets: Record<string, string> };

/** Returns the settings of an issuer; an issuer that cannot be used throws. */
export function readSettings({ config, secrets }: StoredSettings): AcmeSettings {
  const { accountKeyPem, nextAccountKeyPem, externalAccountHmacKey: hmacKey } = secrets;
  const keyId = text(config.externalAccountKeyId);
  const directoryUrl = text(config.directoryUrl);
  if (!directoryUrl) throw new Unusable("The issuer has no directoryUrl.", true);
  if (!accountKeyPem) throw new Unusable("The issuer has no account key.", true);
  if ((keyId === undefined) !== (hmacKey === undefined))
    throw new Unusable("An external account binding takes both externalAccountKeyId and externalAccountHmacKey.", true);
  return {
    directoryUrl,
    contact: list(config.contact).map((address) => `mailto:${address}`),
    termsOfServiceAgreed: config.termsOfServiceAgreed === true,
    caBundlePem: text(config.caBundlePem),
    preferredChain: text(config.preferredChain),
    profile: text(config.profile),
    challenges: readChallenges(config),
    accountKeyPem,
    nextAccountKeyPem,
    externalAccount: keyId !== undefined && hmacKey !== undefined ? { keyId, hmacKey } : undefined,
  };
}

/** Returns how the issuer proves control of names, in the order in which that is tried. */
export const readChallenges = ({ challenges }: StoredSettings["config"]) => list(challenges).filter(isChallenge);

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const isChallenge = (value: unknown): value is ChallengeSettings => isRecord(value) && CHALLENGE_TYPES.some((type) => type === value.type);
