import { X509Certificate } from "node:crypto";
import { Unusable } from "./problems";

const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const MAX_CERTIFICATES = 20;
const REL = /;\s*rel="?([\w-]+)/;
const MAX_HEADER = 10_000;

/** Returns the certificates of a chain as the CA sent it, the leaf first; throws for what is no such chain. */
export function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0 || blocks.length > MAX_CERTIFICATES) throw new Unusable(`The CA sent ${blocks.length} certificates where a chain was to come.`, true);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw new Unusable("The CA sent a chain that holds something which is no certificate.", true);
  }
}

/** True where the last certificate of a chain was issued under this common name. */
export const leadsTo = (chain: X509Certificate[], commonName: string) => chain.at(-1)?.issuer.split("\n").includes(`CN=${commonName}`) ?? false;

/** Returns the addresses of the header `Link` that stand in this relation (RFC 8288). */
export function linksTo(relation: string, header: string | undefined, base: string): string[] {
  const links = [...(header ?? "").slice(0, MAX_HEADER).matchAll(/<([^<>]*)>([^<]*)/g)];
  return links.filter(([, , parameters = ""]) => REL.exec(parameters)?.[1] === relation).flatMap(([, url = ""]) => URL.parse(url, base)?.href ?? []);
}
