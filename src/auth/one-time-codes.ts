import { randomBytes } from "node:crypto";
import { sha256 } from "#crypto/sha256";

export type OneTimeCodes = ReturnType<typeof createOneTimeCodes>;

/** Milliseconds that a code is good for. */
const TTL_MS = 10 * 60_000;

type Holder = { user: string; email: string };

/** Codes that sign one person in, once and soon. They are kept in this process alone, as hashes. */
export function createOneTimeCodes(clock: () => Date) {
  const known = new Map<string, Holder & { endsAt: number }>();
  function issue(holder: Holder) {
    const code = randomBytes(32).toString("base64url");
    known.set(sha256(code), { ...holder, endsAt: clock().getTime() + TTL_MS });
    return code;
  }
  /** Returns whose code it is, or undefined when it is not known, was used or has ended. */
  function use(code: string): Holder | undefined {
    const key = sha256(code);
    const found = known.get(key);
    known.delete(key);
    return found && found.endsAt > clock().getTime() ? found : undefined;
  }
  return { issue, use };
}
