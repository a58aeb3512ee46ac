import { createHash } from "node:crypto";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { bits, integer, octets, oid, sequence, tagged, time, toPem } from "#x509/der-writer";
import { alternativeNames } from "#x509/signing-request";
import { makePrivateKey, signerOf } from "../host/private-key";

/** OIDs in hexadecimal; acmeIdentifier is 1.3.6.1.5.5.7.1.31. */
const OIDS = { commonName: "550403", subjectAltName: "551d11", acmeIdentifier: "2b0601050507011f", ecdsaWithSha256: "2a8648ce3d040302" };
const TRUE = Buffer.from([1, 1, 0xff]);
const [SET, UTF8, VERSION, EXTENSIONS] = [0x31, 0x0c, 0xa0, 0xa3];
const V3 = integer("02");
const HOUR_MS = 3_600_000;
const VALID_MS = 7 * 24 * HOUR_MS;

/** Returns a self-signed certificate, with its key, that answers tls-alpn-01 for a name (RFC 8737, 3; RFC 8738 for addresses). */
export async function makeAlpnCertificate(name: string, keyAuthorization: string) {
  const key = await makePrivateKey("ecdsa-p256");
  const { publicKey, sign } = signerOf(key);
  const algorithm = sequence(oid(OIDS.ecdsaWithSha256));
  const subject = sequence(tagged(SET, sequence(oid(OIDS.commonName), tagged(UTF8, Buffer.from("Certitude: proof of control")))));
  const [from, until] = [new Date(Date.now() - HOUR_MS), new Date(Date.now() + VALID_MS)];
  const names = alternativeNames([{ type: isIP(name) === 0 ? "dns" : "ip", value: name }]);
  const digest = createHash("sha256").update(keyAuthorization).digest();
  const extensions = sequence(
    sequence(oid(OIDS.subjectAltName), octets(names)),
    sequence(oid(OIDS.acmeIdentifier), TRUE, octets(octets(digest))), // critical: no client takes it for a server's certificate
  );
  const serial = integer(`01${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString("hex")}`);
  const toSign = sequence(
    tagged(VERSION, V3),
    serial,
    algorithm,
    subject,
    sequence(time(from), time(until)),
    subject,
    publicKey,
    tagged(EXTENSIONS, extensions),
  );
  return { key, cert: toPem("CERTIFICATE", sequence(toSign, algorithm, bits(await sign(toSign, "sha256")))) };
}

/** Returns the name by which a CA asks for the certificate: of an address that is its name in the reverse DNS (RFC 8738, 6). */
export function serverNameOf(name: string) {
  const address = ipaddr.isValid(name) ? ipaddr.parse(name) : undefined;
  if (!address) return name.toLowerCase();
  const bytes = Buffer.from(address.toByteArray());
  if (address.kind() === "ipv4") return `${[...bytes].toReversed().join(".")}.in-addr.arpa`;
  return `${[...bytes.toString("hex")].toReversed().join(".")}.ip6.arpa`;
}
