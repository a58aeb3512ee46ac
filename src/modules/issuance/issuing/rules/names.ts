import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import ipaddr from "ipaddr.js";
import { parse } from "tldts";
import { sha256 } from "#crypto/sha256";
import type { Name } from "./driver";

export const MAX_NAMES = 100;
const MAX_DOMAIN = 253;
const WILDCARD = "*.";
/** Characters that end or divide the host of a URL, which would be cut off, and white space. */
const FOREIGN = /[\s\p{Cc}/\\?#@:%[\]]/u;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The names of a certificate, each once, as certificates write them, or the first fault. `at` says where they stand. */
export function readNames(given: readonly string[], at: string): { names: Name[] } | { invalid: string } {
  const names = new Map<string, Name>();
  for (const [index, each] of given.entries()) {
    const read = readName(each);
    if ("fault" in read) return { invalid: `${at}[${index}] ${read.fault}.` };
    names.set(read.value, read);
  }
  return { names: [...names.values()] };
}

/** One name as certificates write it: a domain in A-labels and lower case, or an address in its shortest form. */
export function readName(given: string): Name | { fault: string } {
  const text = given.trim();
  return isIP(text) === 0 ? readDomain(text) : readAddress(text);
}

function readAddress(text: string): Name | { fault: string } {
  if (text.includes("%")) return { fault: "must be an address without a zone" };
  const address = ipaddr.process(text);
  const value = address.kind() === "ipv4" ? address.toString() : new URL(`http://[${address}]`).hostname.slice(1, -1);
  return { type: "ip", value };
}

function readDomain(text: string): Name | { fault: string } {
  const isWildcard = text.startsWith(WILDCARD);
  const base = isWildcard ? text.slice(WILDCARD.length) : text;
  if (base.includes("*")) return { fault: "may have a * only as the whole of its leftmost label, as in *.example.com" };
  const domain = FOREIGN.test(base) ? "" : domainToASCII(base.replace(/\.$/, ""));
  const labels = domain.split(".");
  if (!labels.every((label) => LABEL.test(label)) || /^\d+$/.test(labels.at(-1) ?? "")) return { fault: "must be a DNS name or an IP address" };
  const value = isWildcard ? `${WILDCARD}${domain}` : domain;
  if (value.length > MAX_DOMAIN) return { fault: `must be a DNS name of at most ${MAX_DOMAIN} characters` };
  const { isIcann, publicSuffix } = parse(domain);
  if (isIcann && publicSuffix === domain) return { fault: `must not be ${isWildcard ? "a wildcard of " : ""}the public suffix ${domain}` };
  return { type: "dns", value };
}

/** Returns the SHA-256 of the names, in whatever order they stand. */
export const hashNames = (names: readonly Name[]) => sha256(JSON.stringify(valuesOf(names).toSorted()));

export const valuesOf = (names: readonly Name[]) => names.map(({ value }) => value);
export const isWildcard = ({ type, value }: Name) => type === "dns" && value.startsWith(WILDCARD);
