import { randomBytes } from "node:crypto";
import { sha256 } from "#crypto/sha256";

/** How long a credential is good for. */
export const CREDENTIAL_MS = 24 * 3_600_000;

const SHOWN = /^(cag|cac)_[\w-]{43}$/;
const JOINING = /^(cag|caj)_[\w-]{43}$/;

/** An agent's proof of itself, by its hash: a long-lived token, or a credential that counts only with its key. */
export type Shown = { kind: "token" | "credential"; hash: string };
/** The token that a host joins with, by its hash: a join token, or the long-lived token of an agent that changes over. */
export type Joining = { kind: "join-token" | "token"; hash: string };

const newToken = (prefix: string) => `${prefix}_${randomBytes(32).toString("base64url")}`;
export const newAgentToken = () => newToken("cag");
export const newCredential = () => newToken("cac");
export const newJoinToken = () => newToken("caj");

/** SHA-256, hexadecimal: 32 random bytes need no salt. */
export const hashAgentToken = (token: string) => sha256(token);

export function readShown(token: string): Shown | undefined {
  const [, prefix] = SHOWN.exec(token) ?? [];
  return prefix === undefined ? undefined : { kind: prefix === "cag" ? "token" : "credential", hash: hashAgentToken(token) };
}

export function readJoining(token: string): Joining | undefined {
  const [, prefix] = JOINING.exec(token) ?? [];
  return prefix === undefined ? undefined : { kind: prefix === "cag" ? "token" : "join-token", hash: hashAgentToken(token) };
}
