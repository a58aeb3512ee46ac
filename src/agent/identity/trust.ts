import { Value } from "@sinclair/typebox/value";
import type { Logger } from "pino";
import { endorsementOf, readStateHeader, stateComponents } from "#crypto/agent-messages";
import { isSignatureOf } from "#crypto/ed25519";
import { isSignedMessage, readSignature } from "#crypto/message-signature";
import { Successors } from "#modules/fleet/signing-keys/schema";
import { Untrusted } from "../transport";
import type { Ask } from "./access";
import type { IdentityFiles, TrustedKey } from "./identity-files";

/** This host's demand on an answer: the trusted key has signed it for this host, in answer to `nonce`. */
export type Trust = ReturnType<typeof createTrust>;

type TrustDeps = { files: Pick<IdentityFiles, "readTrustedKey" | "saveTrustedKey" | "trustedKeyPath">; ask: Ask; log: Logger };
type Answer = { response: Response; nonce: string; content: string | undefined };

/**
 * Judges desired states. Each must be signed for this agent and this request by the pinned key, or by one that it endorses; a
 * replayed state names another nonce.
 */
export function createTrust({ files, ask, log }: TrustDeps) {
  /**
   * Returns the tag that the signature vouches for; undefined for an unsigned answer of a server that never signed one. Throws
   * Untrusted.
   */
  async function judge({ response, nonce, content }: Answer) {
    const pinned = await files.readTrustedKey();
    const signature = readSignature(response.headers);
    const header = response.headers.get("certitude-state") ?? "";
    const state = readStateHeader(header);
    if (!signature || !state) {
      if (!pinned) return undefined;
      throw refuse("is not signed, as those before were. If the server was replaced by one of an older release on purpose", files);
    }
    if (!isSignedMessage(stateComponents(response.status, header, content), signature)) throw new Untrusted(`${NOT_TAKEN} was changed after it was signed.`);
    if (state.nonce !== nonce) throw new Untrusted(`${NOT_TAKEN} answers another request: an old one was played back.`);
    const { organizationId, agentId } = state;
    if (!pinned) await pin({ organizationId, agentId, publicKey: signature.keyId }, "the server's key is trusted from now on");
    else await follow(pinned, { organizationId, agentId, publicKey: signature.keyId });
    return state.tag;
  }

  async function pin(key: TrustedKey, message: string) {
    await files.saveTrustedKey(key);
    log.info(key, message);
  }

  /** Takes a signer that the pinned key leads to. */
  async function follow(pinned: TrustedKey, signer: TrustedKey) {
    if (signer.agentId !== pinned.agentId || signer.organizationId !== pinned.organizationId)
      throw refuse(`is for the agent ${signer.agentId}, and this host is ${pinned.agentId}. If it was enrolled again on purpose`, files);
    if (signer.publicKey === pinned.publicKey) return;
    if (!(await isEndorsed(pinned, signer.publicKey)))
      throw refuse(
        `is signed with the key ${signer.publicKey}, which the trusted key ${pinned.publicKey} does not endorse. If the server was set up again on purpose`,
        files,
      );
    await pin(signer, "the server signs with a new key, which the one before endorses");
  }

  async function isEndorsed({ organizationId, publicKey }: TrustedKey, wanted: string) {
    const { response } = await ask({ method: "GET", path: `/agent/signing-keys?of=${publicKey}` });
    const found: unknown = response.status === 200 ? await response.json().catch(() => undefined) : undefined;
    if (!Value.Check(Successors, found)) return false;
    let trusted = publicKey;
    for (const { publicKey: next, endorsement } of found.items) {
      if (!isSignatureOf(endorsementOf(organizationId, next), trusted, endorsement)) return false;
      if (next === wanted) return true;
      trusted = next;
    }
    return false;
  }

  return { judge };
}

const NOT_TAKEN = "The desired state is not taken: it";

const refuse = (why: string, { trustedKeyPath }: Pick<IdentityFiles, "trustedKeyPath">) => new Untrusted(`${NOT_TAKEN} ${why}, remove ${trustedKeyPath}.`);
