import { createPrivateKey, X509Certificate } from "node:crypto";
import { checkFields, type Values } from "#catalogue/fields";
import { mergePatch } from "#catalogue/merge-patch";
import { hostFault } from "#outbound/address-policy";
import { CHALLENGE_SECRETS, readChallenges } from "./challenges";
import { FIELDS, type IssuerKind, type SecretField } from "./kinds";

export type Settings = { config: Values; secrets: Values };

const MAX_TEXT = 2_000;
const MAX_SECRET = 16_000;

const secretsOf = (kind: IssuerKind): SecretField[] => [...FIELDS[kind].secretFields, ...(kind === "acme" ? CHALLENGE_SECRETS : [])];

/** The config and secrets of an issuer as its kind wants them, or the first fault. */
export function readSettings(kind: IssuerKind, { config: { challenges, ...given }, secrets }: Settings, allowPrivate: boolean): Settings | { invalid: string } {
  const proofs = kind === "acme" ? readChallenges(challenges, { secrets, allowPrivate }) : undefined;
  if (proofs && "invalid" in proofs) return proofs;
  const rest = kind === "acme" || challenges === undefined ? given : { ...given, challenges };
  const uriFault = (url: URL) => (url.protocol === "https:" ? (allowPrivate ? undefined : hostFault(url.hostname)) : "must start with https://");
  const config = checkFields(FIELDS[kind].configFields, rest, { at: "body.config", owner: kind, maxText: MAX_TEXT, uriFault });
  if ("invalid" in config) return config;
  const sealed = checkFields(secretsOf(kind), secrets, { at: "body.secrets", owner: kind, maxText: MAX_SECRET });
  if ("invalid" in sealed) return sealed;
  const invalid = findFault(config.values, sealed.values);
  return invalid === undefined ? { config: { ...config.values, ...proofs }, secrets: sealed.values } : { invalid };
}

function findFault({ caBundlePem, externalAccountKeyId }: Values, { accountKeyPem, nextAccountKeyPem, externalAccountHmacKey }: Values) {
  if (caBundlePem !== undefined && !isCertificate(String(caBundlePem))) return "body.config.caBundlePem must begin with a certificate in PEM.";
  const keys = Object.entries({ accountKeyPem, nextAccountKeyPem });
  const wrong = keys.find(([, pem]) => pem !== undefined && !isAccountKey(String(pem)));
  if (wrong) return `body.secrets.${wrong[0]} must be an unencrypted private key in PEM: EC P-256, P-384 or P-521, or RSA of 2048 to 4096 bits.`;
  if ((externalAccountKeyId === undefined) !== (externalAccountHmacKey === undefined))
    return "body.config.externalAccountKeyId and body.secrets.externalAccountHmacKey belong together: send both or neither.";
  if (externalAccountHmacKey !== undefined && !/^[A-Za-z0-9_-]{16,}={0,2}$/.test(String(externalAccountHmacKey)))
    return "body.secrets.externalAccountHmacKey must be base64url, as the CA gave it.";
}

function isCertificate(pem: string) {
  try {
    return new X509Certificate(pem).fingerprint256 !== "";
  } catch {
    return false;
  }
}

const CURVES = ["prime256v1", "secp384r1", "secp521r1"];

function isAccountKey(pem: string) {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = "", modulusLength = 0 } = {} } = createPrivateKey(pem);
    return (type === "ec" && CURVES.includes(namedCurve)) || (type === "rsa" && modulusLength >= 2_048 && modulusLength <= 4_096);
  } catch {
    return false;
  }
}

type Patch = { name?: string | undefined; config?: Values | undefined; secrets?: Values | undefined };
type Current = { kind: IssuerKind; name: string; config: Values; secretNames: string[]; secrets: Values };

/** Returns the issuer after a patch, and its new parts. `isElsewhere` when it has no account there yet: another directory or key. */
export function applyPatch({ kind, ...current }: Current, { name = current.name, ...patch }: Patch, allowPrivate: boolean) {
  const config = mergePatch(current.config, patch.config ?? {});
  const isMoved = config.directoryUrl !== current.config.directoryUrl;
  // An account key is one directory's: another one gets a key of its own.
  const { accountKeyPem: _, ...others } = current.secrets;
  const secrets = mergePatch(isMoved ? others : current.secrets, patch.secrets ?? {});
  const read = readSettings(kind, { config, secrets }, allowPrivate);
  if ("invalid" in read) return read;
  const invalid = findUnsent({ kind, ...current }, read.config, patch.secrets);
  if (invalid) return { invalid };
  const next = { name, ...read };
  const changed = (["name", "config", "secrets"] as const).filter((part) => !Bun.deepEquals(next[part], current[part]));
  return { next, changed, isElsewhere: isMoved || read.secrets.accountKeyPem !== current.secrets.accountKeyPem };
}

/** Returns the fault of a patch that sends kept secrets to another address. */
function findUnsent({ kind, config: current, secretNames }: Pick<Current, "kind" | "config" | "secretNames">, config: Values, sent: Values = {}) {
  for (const { name, goesBy } of secretsOf(kind)) {
    if (!secretNames.includes(name) || Object.hasOwn(sent, name)) continue;
    const changed = goesBy.find((field) => !Bun.deepEquals(config[field], current[field]));
    if (changed) return `body.secrets.${name} must be sent again (or null, to remove it): a change of body.config.${changed} decides where it is sent.`;
  }
}
