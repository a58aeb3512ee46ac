import { requestComponents } from "#crypto/agent-messages";
import { isSignedMessage, readSignature } from "#crypto/message-signature";
import { isUuid } from "#text/uuid";
import { TOLERANCE_MS, timeOf } from "./nonces";

/** The proof of a signed request: its sender has the private half of `publicKey` now. */
export type Proof = { publicKey: string; nonce: string };
/** Why a request proves nothing. `isAnothers`: it was not signed with the key that the caller should have. */
export type Unproven = { reason: string; isAnothers: boolean };

/** Returns the key that a request names as its signer's, whether or not that signed it; "" where it names none. */
export const claimedKey = ({ headers }: Request) => readSignature(headers)?.keyId ?? "";

/** Returns the nonce of a request, undefined where it has none. */
export function readNonce({ headers }: Request) {
  const nonce = headers.get("certitude-nonce");
  return isUuid(nonce) ? nonce.toLowerCase() : undefined;
}

/** Returns the proof in a request with this body; `publicKey` is the only key that will do, where the caller is known. */
export function proveRequest(request: Request, body: Uint8Array | undefined, now: Date, publicKey?: string): Proof | Unproven {
  const { headers, method, url } = request;
  const signature = readSignature(headers);
  if (!signature) return { reason: "there is no signature by the agent's key", isAnothers: true };
  if (publicKey !== undefined && signature.keyId !== publicKey) return { reason: "the request is signed with another key", isAnothers: true };
  const { pathname, search } = new URL(url);
  const nonce = readNonce(request);
  const authorization = headers.get("authorization") ?? undefined;
  if (
    !isSignedMessage(requestComponents({ method, path: `${pathname}${search}`, nonce: headers.get("certitude-nonce") ?? "", authorization, body }), signature)
  )
    return { reason: "the signature is not of this request", isAnothers: true };
  const offset = signature.created - Math.floor(now.getTime() / 1_000);
  if (Math.abs(offset) * 1_000 > TOLERANCE_MS)
    return { reason: `the signature's time is ${Math.abs(offset)} s ${offset > 0 ? "ahead" : "ago"}`, isAnothers: false };
  if (nonce?.[14] !== "7" || Math.abs(timeOf(nonce) - now.getTime()) > TOLERANCE_MS) return { reason: "the nonce is not a UUIDv7 of now", isAnothers: false };
  return { publicKey: signature.keyId, nonce };
}
