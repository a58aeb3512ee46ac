import type { Sql } from "#db/connect";
import { lockName } from "#db/locks";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import { parseCertificate } from "#x509/facts";
import { findStored, type StoredAuthority } from "../queries/authorities";
import { findIssued, type Issued, keepIssued, storeCertificate } from "../queries/issued";
import { type Name, nameFault } from "../rules/names";
import { findProfile, type Profile } from "../rules/profiles";
import { beginAt, issueLeaf, newSerialNumber, type Validity } from "./certificates";
import { readRequest } from "./requests";
import { chainBelow, issuingFault, openSigner } from "./signer";

export type Wanted = {
  organizationId: string;
  authorityId: string;
  /** PKCS #10 in DER: of it the key alone counts. */
  csr: Uint8Array;
  names: readonly Name[];
  /** Null for the first profile. */
  profile: string | null;
  notAfter?: Date;
  /** The order: it always gets the same certificate, on any server and after a kill. */
  requestId: string | null;
  /** Returns true where the order was approved for this profile; without it, for any. */
  isApproved?: (profile: Profile) => boolean;
};

/** `chainPem` is the certificate and those above it, without the root. */
export type IssuedCertificate = Omit<Issued, "pem" | "authorityId"> & { chainPem: string };

type Refusal = { invalid: string; isOther?: true };

const MAX_NAMES = 100;
/** In ms: what is left of an authority must be worth a certificate. */
const LEAST_LEFT_MS = 60_000;

/**
 * Has an authority issue a certificate and stores it, in one transaction: none is given out that is not stored. `invalid` is a
 * sentence for a person; `isOther`: the profile was not the approved one.
 */
export const issueCertificate = (deps: IssuingDeps, wanted: Wanted, { actor, requestId }: Pick<Scope, "actor" | "requestId"> = SERVER) =>
  deps.sql.begin(async (tx): Promise<IssuedCertificate | Refusal> => {
    const scope: Scope = { organizationId: wanted.organizationId, actor, requestId };
    if (wanted.requestId !== null) await lockName(tx, `issue ${wanted.organizationId} ${wanted.requestId}`);
    const known = wanted.requestId === null ? undefined : await findIssued(tx, wanted.organizationId, wanted.requestId);
    const authority = await findStored(tx, wanted.organizationId, known?.authorityId ?? wanted.authorityId, "share");
    if (!authority) return { invalid: "The authority is gone." };
    return known ? withChain(known, authority) : issue(deps, tx, scope, authority, wanted);
  });

const SERVER: Pick<Scope, "actor" | "requestId"> = { actor: { type: "server" }, requestId: null };

const withChain = ({ pem, authorityId, ...issued }: Issued, authority: StoredAuthority): IssuedCertificate => ({
  ...issued,
  chainPem: `${pem}${chainBelow(authority)}`,
});

async function issue(deps: IssuingDeps, tx: Sql, scope: Scope, authority: StoredAuthority, wanted: Wanted) {
  const { config, stamps } = deps;
  const terms = judge(deps, authority, wanted);
  if ("invalid" in terms) return terms;
  const { profile, key, ...validity } = terms;
  const { names, requestId } = wanted;
  const content = { ...validity, ...key, serialNumber: newSerialNumber(), names, usage: profile.usage };
  const der = await issueLeaf(openSigner(config.keyring, authority), content);
  const parsed = parseCertificate(der);
  const certificateId = await storeCertificate(tx, stamps, scope, parsed, authority.certificateId ?? undefined);
  const { notAfter } = parsed;
  const { serialNumber } = parsed.facts;
  const details = { names: names.map((each) => each.value), profile: profile.name };
  await keepIssued(tx, scope, { authorityId: authority.id, serialNumber, certificateId, requestId, notAfter, details });
  return withChain({ certificateId, serialNumber, notAfter, pem: parsed.pem, authorityId: authority.id }, authority);
}

type Terms = Validity & { profile: Profile; key: { publicKey: Uint8Array; isRsa: boolean } };

/** Returns the terms of a certificate, or why there is none. */
function judge(deps: IssuingDeps, authority: StoredAuthority, { csr, names, profile: wantedProfile, notAfter, isApproved }: Wanted): Terms | Refusal {
  const fault = issuingFault(deps, authority);
  if (fault || !authority.notAfter) return { invalid: fault ?? "" };
  const profile = findProfile(authority.profiles, wantedProfile);
  if (!profile) return { invalid: `The authority "${authority.name}" has no profile${wantedProfile === null ? "" : ` "${wantedProfile}"`}.` };
  if (isApproved?.(profile) === false) return { invalid: `The profile "${profile.name}" is not as it was approved.`, isOther: true };
  const invalid = namesFault(authority, profile, names);
  if (invalid) return { invalid };
  const key = readRequest(csr);
  if ("invalid" in key) return key;
  if (Buffer.from(key.publicKey).toString("base64") === authority.publicKey) return { invalid: "The key of the request is that of the authority." };
  const validity = validityOf(authority, authority.notAfter, profile, notAfter, deps.clock());
  if ("invalid" in validity) return validity;
  return { profile, key, ...validity };
}

function namesFault({ constraints }: StoredAuthority, profile: Profile, names: readonly Name[]) {
  if (names.length === 0 || names.length > MAX_NAMES) return `A certificate has 1 to ${MAX_NAMES} names.`;
  for (const each of names) {
    const fault = nameFault(each, constraints, profile);
    if (fault) return `${each.value} ${fault}.`;
  }
}

/** Never longer than its issuer. */
function validityOf(
  { name }: StoredAuthority,
  end: Date,
  { defaultLifetimeSeconds, maxLifetimeSeconds, name: profile }: Profile,
  asked: Date | undefined,
  now: Date,
): Validity | { invalid: string } {
  const notBefore = beginAt(now, asked ? asked.getTime() - now.getTime() : defaultLifetimeSeconds * 1_000);
  const after = (seconds: number) => new Date(notBefore.getTime() + seconds * 1_000);
  if (end.getTime() - now.getTime() < LEAST_LEFT_MS) return { invalid: `The authority "${name}" is about to end.` };
  if (asked && asked > end) return { invalid: `The certificate would outlive the authority "${name}", which ends at ${end.toISOString()}.` };
  if (asked && asked > after(maxLifetimeSeconds)) return { invalid: `The profile "${profile}" allows at most ${maxLifetimeSeconds} seconds.` };
  if (asked && asked <= now) return { invalid: "The certificate would have ended already." };
  return { notBefore, notAfter: asked ?? new Date(Math.min(after(defaultLifetimeSeconds).getTime(), end.getTime())) };
}
