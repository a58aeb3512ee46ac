import { createHash } from "node:crypto";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import type { HostProofType } from "#modules/issuance/issuing/rules/host-proofs";
import { Fault, isRecord } from "./problems";
import type { Proof } from "./progress";
import type { AcmeSettings } from "./settings";

/** True for a token of a challenge: base64url of at least 128 bits (RFC 8555, 8.1), and no longer than any CA makes them. */
export const isToken = (token: unknown): token is string => typeof token === "string" && /^[\w-]{16,256}$/.test(token);

/** Returns what answers a challenge (RFC 8555, 8.1). */
export const keyAuthorizationOf = ({ token, thumbprint }: Pick<Proof, "token" | "thumbprint">) => `${token}.${thumbprint}`;

/** Returns the TXT record that proves control of a name (RFC 8555, 8.4). */
export const recordOf = (proof: Pick<Proof, "name" | "token" | "thumbprint">) => ({
  name: `_acme-challenge.${proof.name}`,
  value: createHash("sha256").update(keyAuthorizationOf(proof)).digest("base64url"),
});

type Way = Pick<Proof, "type" | "challenge">;

/**
 * Returns the ways to prove control, in the order in which they are tried: by the host of the request, where it does, and then the issuer's
 * own.
 */
export const waysOf = (hostProof: HostProofType | null, challenges: AcmeSettings["challenges"]): Way[] => [
  ...(hostProof === null ? [] : [{ type: hostProof, challenge: "host" as const }]),
  ...challenges.map(({ type }, challenge) => ({ type, challenge })),
];

/** Returns how an authorization is to be proven: by the first of the ways that the CA offers; undefined where it is already. */
export function planProof(authorization: Record<string, unknown>, names: readonly Name[], ways: Way[], thumbprint: string): Proof | undefined {
  const { status, identifier, wildcard } = authorization;
  if (status === "valid") return;
  const name = isRecord(identifier) ? String(identifier.value).toLowerCase() : "";
  if (!names.some(({ value }) => value.replace(/^\*\./, "") === name))
    throw new Fault(`The CA wants ${name.slice(0, 253)} proven, which was not asked for.`, true);
  const offered = Array.isArray(authorization.challenges) ? authorization.challenges.filter(isRecord) : [];
  if (status !== "pending") throw new Fault(`The authorization of ${name} is ${String(status).slice(0, 50)}.`, true);
  for (const { type, challenge } of ways) {
    const found = offered.find((each) => each.type === type);
    if (!found) continue;
    const { url, token } = found;
    if (typeof url !== "string" || !isToken(token)) throw new Fault(`The CA's challenge for ${name} has no usable token.`, true);
    return { name, type, challenge, challengeUrl: url, token, thumbprint, state: found.status === "pending" ? "planned" : "told" };
  }
  throw new Fault(`${wildcard === true ? "*." : ""}${name}: the CA offers ${inWords(offered)}, and the issuer has ${inWords(ways)}.`, true);
}

const inWords = (challenges: { type?: unknown }[]) => [...new Set(challenges.map(({ type }) => String(type).slice(0, 50)))].join(", ") || "no challenge";
