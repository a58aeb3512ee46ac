import { createPublicKey, type KeyObject } from "node:crypto";
import ipaddr from "ipaddr.js";
import { context, readOne, TAG } from "./der";
import { bits, integer, octets, oid, sequence, tagged } from "./der-writer";
import { readKey } from "./keys";

/** The subject of a requested certificate. */
export type Subject = { commonName: string | null; names: readonly { type: "dns" | "ip"; value: string }[] };
/** A private key that is used and never shown: its public half, in DER, and how it signs. */
export type Signer = { publicKey: Uint8Array; sign: (data: Uint8Array, hash: Hash) => Promise<Uint8Array> };
export type Hash = "sha256" | "sha384";

/** OIDs in hexadecimal. */
const OIDS = {
  commonName: "550403",
  extensionRequest: "2a864886f70d01090e",
  subjectAltName: "551d11",
  ecdsaWithSha256: "2a8648ce3d040302",
  ecdsaWithSha384: "2a8648ce3d040303",
  sha256WithRsa: "2a864886f70d01010b",
};
const NULL = Buffer.from([5, 0]);
/** GeneralName's own tags. */
const [DNS_NAME, IP_ADDRESS] = [0x82, 0x87];

/** Returns a certificate signing request (PKCS #10, RFC 2986) in DER, signed by the key that it is about. */
export async function signRequest({ commonName, names }: Subject, { publicKey, sign }: Signer) {
  const { hash, identifier } = signatureOf(publicKey);
  const subject = sequence(...(commonName === null ? [] : [tagged(TAG.set, sequence(oid(OIDS.commonName), tagged(TAG.utf8, Buffer.from(commonName))))]));
  const extension = sequence(oid(OIDS.subjectAltName), octets(alternativeNames(names)));
  const attribute = sequence(oid(OIDS.extensionRequest), tagged(TAG.set, sequence(extension)));
  const info = sequence(integer("00"), subject, publicKey, tagged(context(0), attribute));
  return sequence(info, identifier, bits(await sign(info, hash)));
}

/** Returns the content of the extension subjectAltName (RFC 5280, 4.2.1.6). */
export const alternativeNames = (names: Subject["names"]) =>
  sequence(...names.map(({ type, value }) => (type === "dns" ? tagged(DNS_NAME, Buffer.from(value)) : tagged(IP_ADDRESS, addressOf(value)))));

/** The name of a key's algorithm in requests, such as `ecdsa-p256` or `rsa-2048`, by its public half in DER. */
export function algorithmOf(publicKey: Uint8Array) {
  const { algorithm, size } = readKey(readOne(publicKey));
  return algorithm === "EC" ? `ecdsa-p${size}` : `${algorithm.toLowerCase()}-${size}`;
}

/** The public half of a key, in DER. */
export const publicHalfOf = (key: KeyObject) => new Uint8Array((key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" }));

function signatureOf(publicKey: Uint8Array): { hash: Hash; identifier: Uint8Array } {
  const algorithm = algorithmOf(publicKey);
  if (algorithm === "ecdsa-p384") return { hash: "sha384", identifier: sequence(oid(OIDS.ecdsaWithSha384)) };
  if (algorithm === "ecdsa-p256") return { hash: "sha256", identifier: sequence(oid(OIDS.ecdsaWithSha256)) };
  if (algorithm.startsWith("rsa-")) return { hash: "sha256", identifier: sequence(oid(OIDS.sha256WithRsa), NULL) };
  throw new Error(`A key of the kind ${algorithm} signs no certificate signing request here.`);
}

const addressOf = (text: string) => Buffer.from(ipaddr.parse(text).toByteArray());
