import type { KeyObject } from "node:crypto";
import { stateComponents, writeStateHeader } from "#crypto/agent-messages";
import { digestOf, signMessage } from "#crypto/message-signature";
import type { Deps } from "#deps";
import { openSigningKey } from "../queries";

type Key = { publicKey: string; key: KeyObject };
type State = { organizationId: string; agentId: string; tag: string; nonce: string };
type Answer = { status: number; content?: string };

/** Organizations whose open key is remembered. */
const MAX_KEYS = 1_000;

/**
 * Signs desired states. An open key stays in memory; which one signs now is said by the statement that reads the state, so that a rotation
 * on another server counts at once.
 */
export function createStateSigner({ sql, config: { keyring }, clock }: Pick<Deps, "sql" | "config" | "clock">) {
  const keys = new Map<string, Key>();

  async function keyOf(organizationId: string, current: string | null) {
    const known = keys.get(organizationId);
    if (known && known.publicKey === current) return known;
    const opened = await openSigningKey(sql, keyring, organizationId);
    if (keys.size >= MAX_KEYS) keys.clear();
    keys.set(organizationId, opened);
    return opened;
  }

  /** Returns the header fields of a signed answer; `current` is the public key that the organization signs with now, if it has one. */
  async function sign(state: State, current: string | null, { status, content }: Answer): Promise<Record<string, string>> {
    const key = await keyOf(state.organizationId, current);
    const header = writeStateHeader(state);
    const created = Math.floor(clock().getTime() / 1_000);
    return {
      "certitude-state": header,
      ...(content !== undefined && { "unencoded-digest": digestOf(content) }),
      ...signMessage(stateComponents(status, header, content), key, created),
    };
  }

  /** Returns the public key that signs for an organization, made first where there is none. */
  const publicKeyOf = async (organizationId: string) => (await openSigningKey(sql, keyring, organizationId)).publicKey;

  return { sign, publicKeyOf };
}
