import { X509Certificate } from "node:crypto";
import { isMoment } from "#db/moments";
import type { RenewalWindow } from "#modules/issuance/issuing/rules/driver";
import { readRetryAfter } from "#outbound/call";
import { children, contentOf, context, readOne, TAG } from "#x509/der";
import { readKeyIdentifiers } from "#x509/key-identifiers";
import { isRecord, Unusable } from "../rules/problems";
import type { Client } from "./directory";

/** RFC 9773, 4.3: between these bounds, six hours where the CA does not say. */
const ASK_MS = { shortest: 60_000, usual: 6 * 3_600_000, longest: 86_400_000 };

/** Returns an invalid date for what is no moment. */
const readDate = (text: unknown) => new Date(typeof text === "string" && isMoment(text) ? text : Number.NaN);

/** Returns the window in which a certificate is to be renewed (RFC 9773); undefined where the CA or the certificate knows none. */
export async function readRenewalWindow(client: Client, pem: string, now: Date): Promise<RenewalWindow | undefined> {
  const { renewalInfo } = await client.directory();
  const id = certificateIdOf(pem);
  if (renewalInfo === undefined || id === undefined) return;
  const { json, retryAfter } = await client.get(`${renewalInfo.replace(/\/$/, "")}/${id}`);
  const { start, end } = isRecord(json.suggestedWindow) ? json.suggestedWindow : {};
  const [from, until] = [readDate(start), readDate(end)];
  if (!(from < until)) throw new Unusable("The CA's renewal information has no window that begins before it ends.", true);
  const wait = Math.max(readRetryAfter(retryAfter, now, ASK_MS.longest) ?? ASK_MS.usual, ASK_MS.shortest);
  const explanation = URL.parse(String(json.explanationURL ?? ""));
  return {
    start: from,
    end: until,
    explanationUrl: explanation && /^https?:$/.test(explanation.protocol) ? explanation.href.slice(0, 1_000) : undefined,
    askAgainAt: new Date(now.getTime() + wait),
  };
}

/**
 * Returns what a CA calls a certificate: the key identifier of its issuer and its serial number (RFC 9773, 4.1); undefined where it names
 * no such key.
 */
export function certificateIdOf(pem: string) {
  const { raw } = new X509Certificate(pem);
  const { authority } = readKeyIdentifiers(raw);
  if (authority === undefined) return;
  const [first, second] = children(children(readOne(raw), TAG.sequence)[0], TAG.sequence);
  const serial = contentOf(first?.tag === context(0) ? second : first, TAG.integer); // the version stands before it, but in X.509 v1
  return `${Buffer.from(authority, "hex").toString("base64url")}.${Buffer.from(serial).toString("base64url")}`;
}
