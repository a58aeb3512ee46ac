import { KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";
import { readNames } from "#modules/issuance/issuing/rules/names";
import type { KeyFacts } from "#x509/keys";

type Named = { commonName: string; alternativeNames: Record<"dns" | "ip" | "email" | "uri", string[]> };

/** Returns what a certificate is for, as an order names it; or why none can. */
export function namesOf({ commonName, alternativeNames: { dns, ip, email, uri } }: Named) {
  if (email.length + uri.length > 0) return { invalid: "The certificate is for e-mail addresses or URIs, which cannot be ordered." };
  const read = readNames(dns.length + ip.length > 0 ? [...dns, ...ip] : [commonName], "the certificate's name");
  return "invalid" in read ? { invalid: `It cannot be ordered again: ${read.invalid}` } : read;
}

/** The kind of a key as an order names it, or the default where none can. */
export function algorithmOf({ algorithm, size, curve }: KeyFacts): (typeof KEY_ALGORITHMS)[number] {
  const name = algorithm === "EC" ? `ecdsa-${curve?.replace("-", "").toLowerCase()}` : `${algorithm.toLowerCase()}-${size}`;
  return KEY_ALGORITHMS.find((each) => each === name) ?? "ecdsa-p256";
}
