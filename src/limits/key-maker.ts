import { makeEcdsaKey, makeRsaKey } from "#crypto/private-keys";
import { Refusal } from "#http/errors";
import { createLanes, KEY_LANES, type Waits } from "./lanes";

export type KeyMaker = ReturnType<typeof createKeyMaker>;

/** Makes private keys for organizations. Those of RSA wait for a lane, with the patience that the caller has; others are made at once. */
export function createKeyMaker() {
  const lanes = createLanes(KEY_LANES);

  /** Returns a new private key of an algorithm such as `ecdsa-p256` or `rsa-4096`; 503 where `signal` ends before it is there. */
  async function make(organizationId: string, algorithm: string, waits: Waits & { signal: AbortSignal }) {
    if (!algorithm.startsWith("rsa-")) return makeEcdsaKey(algorithm);
    const bits = Number(algorithm.replace("rsa-", ""));
    try {
      return await lanes.run(organizationId, () => makeRsaKey(bits, waits.signal), waits);
    } catch (error) {
      throw waits.signal.aborted ? new Refusal(503, "The private key was not made in time. Try again in a moment.", { "retry-after": "1" }) : error;
    }
  }

  return { make, lanes };
}
