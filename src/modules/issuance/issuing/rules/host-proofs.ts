import { isIP } from "node:net";
import { isAbsolute, normalize } from "node:path";

/** The challenges that an agent can answer. */
export const HOST_PROOFS = ["http-01", "tls-alpn-01"] as const;
export type HostProofType = (typeof HOST_PROOFS)[number];

type Proof = { type: HostProofType; webroot?: string | undefined; address?: string | undefined; port?: number | undefined };

/** Returns what is wrong with how a host is to prove control, as the rest of a sentence. */
export function findProofFault({ type, webroot, address, port }: Proof): string | undefined {
  if (address !== undefined && isIP(address) === 0) return ".address must be an IP address";
  if (webroot === undefined) return;
  if (type !== "http-01") return ".webroot belongs to http-01";
  if (address !== undefined || port !== undefined) return " must have either a webroot or where the agent listens, not both";
  if (!isAbsolute(webroot) || normalize(webroot) !== webroot || /\p{C}/u.test(webroot)) return ".webroot must be an absolute path, written the direct way";
}
