import type { KeyObject } from "node:crypto";
import type { Extension as ExtensionOf, JsonNameParams, Name as LibraryName, X509CertificateCreateParams } from "@peculiar/x509";
import { children, readOne, TAG } from "#x509/der";
import { sequence, tagged } from "#x509/der-writer";
import { hash } from "#x509/facts";
import { type NameConstraints, type Name as NameOf, networkBytes } from "../rules/names";
import type { Profile } from "../rules/profiles";
import type { NewIssuing } from "../schema";
import { publicKeyOf, signatureOf, webKeyOf } from "./keys";
import { library } from "./library";

/** A signer: its key, its name in DER, its key identifier in hexadecimal, and the addresses of its publications. */
export type Signer = { key: KeyObject; subject: Uint8Array; keyId: string; urls: { certificate: string; crl: string; ocsp: string } | undefined };
export type Validity = { notBefore: Date; notAfter: Date };
type Subject = NonNullable<NewIssuing["subject"]>;

/**
 * Certificates begin a minute ago, so that a host whose clock is a little late takes them; of a short lifetime at most this
 * share is lost to that.
 */
const BACKDATED_MS = 60_000;
const BACKDATED_SHARE = 1 / 10;
const USAGES = { server: ["serverAuth"], client: ["clientAuth"], both: ["serverAuth", "clientAuth"] } as const;

/** Returns when a certificate begins that is made at this moment, and lives so long. */
export const beginAt = (now: Date, lifetimeMs = Number.POSITIVE_INFINITY) =>
  new Date(Math.floor((now.getTime() - Math.min(BACKDATED_MS, lifetimeMs * BACKDATED_SHARE)) / 1_000) * 1_000);

/** 128 random bits, in hexadecimal. */
export const newSerialNumber = () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex");

/** Returns the identifier of a public key (RFC 5280, 4.2.1.2): the SHA-1 of its bits, in hexadecimal. No signature depends on it. */
export const keyIdOf = (publicKey: Uint8Array) => hash("sha1", keyBitsOf(publicKey));

export function keyBitsOf(publicKey: Uint8Array) {
  const [, bits] = children(readOne(publicKey), TAG.sequence);
  return bits?.content.subarray(1) ?? new Uint8Array();
}

/** The name of an authority: country, organization, unit and common name, from the root of names down. */
export function nameOf({ commonName, organization, organizationalUnit, country }: Subject) {
  const parts: JsonNameParams = [
    ...(country === undefined ? [] : [{ C: [{ printableString: country }] }]),
    ...(organization === undefined ? [] : [{ O: [{ utf8String: organization }] }]),
    ...(organizationalUnit === undefined ? [] : [{ OU: [{ utf8String: organizationalUnit }] }]),
    { CN: [{ utf8String: commonName }] },
  ];
  const { Name } = library();
  return new Uint8Array(new Name(parts).toArrayBuffer());
}

/** The longest common name that X.509 allows. */
const MAX_COMMON_NAME = 64;

/** The certificate of a host or client, in DER. Its subject is its first name, where that is not too long. */
export function issueLeaf(
  signer: Signer,
  {
    publicKey,
    isRsa,
    names,
    usage,
    ...rest
  }: Validity & {
    serialNumber: string;
    publicKey: Uint8Array;
    isRsa: boolean;
    names: readonly NameOf[];
    usage: Profile["usage"];
  },
) {
  const { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, Name, SubjectAlternativeNameExtension } = library();
  const commonName = names[0]?.value ?? "";
  const hasSubject = commonName.length <= MAX_COMMON_NAME;
  return certify(signer, {
    ...rest,
    publicKey,
    subject: new Name(hasSubject ? [{ CN: [{ utf8String: commonName }] }] : []),
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | (isRsa && usage !== "client" ? KeyUsageFlags.keyEncipherment : 0), true),
      new ExtendedKeyUsageExtension(USAGES[usage].map((each) => ExtendedKeyUsage[each])),
      new SubjectAlternativeNameExtension(
        names.map(({ type, value }) => ({ type, value })),
        !hasSubject,
      ),
    ],
  });
}

type Authority = { subject: Uint8Array; publicKey: Uint8Array; pathLength: number | null; constraints: NameConstraints | undefined };

function authorityExtensions({ pathLength, constraints }: Pick<Authority, "pathLength" | "constraints">) {
  const { BasicConstraintsExtension, Extension, KeyUsageFlags, KeyUsagesExtension } = library();
  return [
    new BasicConstraintsExtension(true, pathLength ?? undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ...(constraints ? [new Extension("2.5.29.30", true, encodeConstraints(constraints))] : []),
  ];
}

/** The certificate of an authority, in DER. */
export function issueAuthority(signer: Signer, { subject, publicKey, pathLength, constraints, ...rest }: Authority & Validity & { serialNumber: string }) {
  const { Name } = library();
  return certify(signer, { ...rest, publicKey, subject: new Name(subject), extensions: authorityExtensions({ pathLength, constraints }) });
}

/** Issues the certificate of an authority's OCSP responder (RFC 6960, 4.2.2.2), in DER. Clients do not check whether it is revoked. */
export function issueResponder(signer: Signer, { publicKey, ...rest }: Validity & { serialNumber: string; publicKey: Uint8Array }) {
  const { ExtendedKeyUsage, ExtendedKeyUsageExtension, Extension, KeyUsageFlags, KeyUsagesExtension, Name } = library();
  const content = {
    ...rest,
    publicKey,
    subject: new Name([{ CN: [{ utf8String: "OCSP responder" }] }]),
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.ocspSigning]),
      new Extension("1.3.6.1.5.5.7.48.1.5", false, Uint8Array.of(5, 0)),
    ],
  };
  return certify({ ...signer, urls: undefined }, content);
}

type Hashed = NonNullable<X509CertificateCreateParams["signingAlgorithm"]>;
type Content = Validity & { serialNumber: string; subject: LibraryName; publicKey: Uint8Array; extensions: ExtensionOf[] };

async function certify({ key, subject: issuer, keyId, urls }: Signer, { publicKey, extensions, ...rest }: Content): Promise<Uint8Array> {
  const {
    AuthorityInfoAccessExtension,
    AuthorityKeyIdentifierExtension,
    CRLDistributionPointsExtension,
    Name,
    SubjectKeyIdentifierExtension,
    X509CertificateGenerator,
  } = library();
  const isOwn = publicKeyOf(key).equals(publicKey);
  const made = await X509CertificateGenerator.create({
    ...rest,
    issuer: new Name(issuer),
    publicKey,
    signingKey: await webKeyOf(key),
    signingAlgorithm: { name: "", hash: signatureOf(key).hash } as Hashed,
    extensions: [
      ...extensions,
      new SubjectKeyIdentifierExtension(keyIdOf(publicKey)),
      ...(isOwn ? [] : [new AuthorityKeyIdentifierExtension(keyId)]),
      ...(isOwn || !urls
        ? []
        : [new AuthorityInfoAccessExtension({ ocsp: urls.ocsp, caIssuers: urls.certificate }), new CRLDistributionPointsExtension([urls.crl])]),
    ],
  });
  return new Uint8Array(made.rawData);
}

/** A request for an authority elsewhere, in DER: the name, the key, and what the certificate is to say. */
export async function requestAuthority(key: KeyObject, { subject, publicKey, ...wanted }: Authority) {
  const { hash: hashName, web } = signatureOf(key);
  const { Name, Pkcs10CertificateRequestGenerator } = library();
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: new Name(subject),
    keys: { privateKey: await webKeyOf(key), publicKey: await crypto.subtle.importKey("spki", Buffer.from(publicKey), web, true, ["verify"]) },
    signingAlgorithm: { name: "", hash: hashName } as Hashed,
    extensions: authorityExtensions(wanted),
  });
  return new Uint8Array(request.rawData);
}

/** RFC 5280, 4.2.1.10. */
function encodeConstraints({ permittedDomains, excludedDomains, permittedAddresses, excludedAddresses }: NameConstraints) {
  const subtrees = (tag: number, domains: string[], addresses: string[]) => {
    const names = [...domains.map((each) => tagged(0x82, Buffer.from(each))), ...addresses.map((each) => tagged(0x87, networkBytes(each)))];
    return names.length > 0 ? [tagged(tag, ...names.map((each) => sequence(each)))] : [];
  };
  return sequence(...subtrees(0xa0, permittedDomains, permittedAddresses), ...subtrees(0xa1, excludedDomains, excludedAddresses));
}
