import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { t } from "elysia";
import { isPublicKey, type KeyPair } from "#crypto/ed25519";
import { Uuid } from "#http/schema";
import { absent, removeFile, writeAtomically } from "../host/files";

/** The host's identity: the agent that it joined as, its key and its credential of a day. */
export type Identity = KeyPair & { server: string; organizationId: string; agentId: string; name: string; credential: string; expiresAt: string };
/** A key that a host has begun to join with: the answer may be lost, and the key known to the server all the same. */
export type Joining = KeyPair & { server: string };
/** The desired states that this host takes: those of this agent, signed with this key. */
export type TrustedKey = { organizationId: string; agentId: string; publicKey: string };

/**
 * A credential as the server sent it, in a form that can be kept and shown: a token of one word, the time when it ends, and a
 * name for a line.
 */
const Credential = t.Object({
  credential: t.String({ pattern: "^[\\w.~+/-]{1,500}=*$" }),
  expiresAt: t.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z$" }),
  name: t.String({ pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]{1,500}$" }),
});
const Access = t.Composite([Credential, t.Object({ organizationId: Uuid, agentId: Uuid, signingKey: t.String() })]);

export const isCredential = (value: unknown): value is typeof Credential.static => Value.Check(Credential, value);
export const isAccess = (value: unknown): value is typeof Access.static => Value.Check(Access, value) && isPublicKey(value.signingKey);

export type IdentityFiles = ReturnType<typeof openIdentityFiles>;

/** The files of the state directory that say who this host is and whom it trusts. They are for the agent's user alone. */
export function openIdentityFiles(directory: string, { isReadOnly = false } = {}) {
  const own = { mode: 0o600, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const [identity, joining, trustedKey] = ["identity.json", "joining.json", "trusted-key.json"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];

  const save = async (path: string, value: object) => {
    if (!isReadOnly) await writeAtomically(path, JSON.stringify(value), own);
  };

  return {
    readIdentity: () => read<Identity>(identity, ["server", "organizationId", "agentId", "name", "publicKey", "privateKey", "credential", "expiresAt"]),
    saveIdentity: (value: Identity) => save(identity, value),
    readJoining: () => read<Joining>(joining, ["server", "publicKey", "privateKey"]),
    saveJoining: (value: Joining) => save(joining, value),
    forgetJoining: () => removeFile(joining),
    readTrustedKey: () => read<TrustedKey>(trustedKey, ["organizationId", "agentId", "publicKey"]),
    saveTrustedKey: (value: TrustedKey) => save(trustedKey, value),
    /** The path of the trusted key, for a sentence to a person. */
    trustedKeyPath: trustedKey,
  };
}

/**
 * Returns what the file holds, undefined where there is none. A damaged one is an error in words: to go on without it would be
 * to trust any server.
 */
async function read<Value>(path: string, names: (keyof Value & string)[]): Promise<Value | undefined> {
  const text = await readFile(path, "utf8").catch(absent);
  if (text === undefined) return undefined;
  const value = parse(text);
  if (value && names.every((name) => typeof value[name] === "string")) return value as Value;
  throw new Error(`${path} is damaged. Restore it from a backup; or remove it and join again: certitude agent join --help`);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value instanceof Object ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
