import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { children, context, type Der, readOid, readOne, TAG } from "#x509/der";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";
import { dns, ip, mustIssue, newHierarchy } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";

setDefaultTimeout(300_000);
const openssl = newOpenssl();
afterAll(openssl.remove);

const organization = await newOrganization();
const constraints = { permittedDomains: ["example.com"], excludedAddresses: ["192.168.0.0/16"] };
const ecdsa = await newHierarchy(organization, { lifetimeDays: 20_000, nameConstraints: constraints }, { lifetimeDays: 19_000 });
const rsa = await newHierarchy(organization, { keyAlgorithm: "rsa-2048" }, { keyAlgorithm: "rsa-2048" });
const longName = `${"a".repeat(60)}.${"b".repeat(60)}.example.com`;
const leaf = async (issuing: { id: string }, wish: object) => (await mustIssue(openssl, organization, issuing, wish)).pem;

type Kind = "root" | "issuing" | "leaf";
const certificates: [name: string, kind: Kind, pem: string][] = [
  ["a root until 2080", "root", ecdsa.root.certificatePem],
  ["an issuing CA until 2078", "issuing", ecdsa.issuing.certificatePem],
  ["an RSA root", "root", rsa.root.certificatePem],
  ["an RSA issuing CA", "issuing", rsa.issuing.certificatePem],
  ["a server's", "leaf", await leaf(ecdsa.issuing, { names: [...dns("www.example.com"), ...ip("10.0.0.1", "2001:db8::1")] })],
  ["a server's, RSA by RSA", "leaf", await leaf(rsa.issuing, { algorithm: "rsa-2048" })],
  ["a client's", "leaf", await leaf(ecdsa.issuing, { profile: "client" })],
  ["one for both, of P-384", "leaf", await leaf(ecdsa.issuing, { profile: "both", algorithm: "ecdsa-p384" })],
  ["one whose name is too long for a subject", "leaf", await leaf(ecdsa.issuing, { names: dns(longName) })],
];

const OID = {
  san: "2.5.29.17",
  ku: "2.5.29.15",
  eku: "2.5.29.37",
  bc: "2.5.29.19",
  ski: "2.5.29.14",
  aki: "2.5.29.35",
  nc: "2.5.29.30",
  cdp: "2.5.29.31",
  aia: "1.3.6.1.5.5.7.1.1",
};

function read(pem: string) {
  const [block] = readPem(pem);
  if (!block || "fault" in block) throw new Error("no PEM");
  const [toBeSigned, outer] = children(readOne(block.bytes), TAG.sequence);
  const fields = children(toBeSigned, TAG.sequence);
  const [version, serial, inner, issuer, validity, subject, , wrapper] = fields;
  const list = children(children(wrapper, context(3))[0], TAG.sequence).map((each) => {
    const parts = children(each, TAG.sequence);
    return { oid: readOid(parts[0]), isCritical: parts.length === 3, parts, value: readOne(parts.at(-1)?.content ?? new Uint8Array()) };
  });
  const extension = (oid: string) => list.find((each) => each.oid === oid);
  return {
    version,
    serial,
    inner,
    outer,
    issuer,
    validity: children(validity, TAG.sequence),
    subject,
    list,
    extension,
    parsed: parseCertificate(block.bytes),
    x509: new X509Certificate(pem),
  };
}
type Read = ReturnType<typeof read>;

/** What zlint asks of certificates (its RFC 5280 and CA/Browser Forum sources), as far as it concerns what we issue. */
const LINTS: [name: string, of: Kind[], holds: (certificate: Read) => boolean][] = [
  ["e_invalid_certificate_version: v3", ["root", "issuing", "leaf"], ({ version }) => Buffer.from(version?.content ?? []).toString("hex") === "020102"],
  ["e_serial_number_longer_than_20_octets", ["root", "issuing", "leaf"], ({ serial }) => (serial?.content.length ?? 99) <= 20],
  [
    "e_serial_number_not_positive",
    ["root", "issuing", "leaf"],
    ({ serial }) => (serial?.content[0] ?? 0x80) < 0x80 && (serial?.content.some((byte) => byte > 0) ?? false),
  ],
  ["w_serial_number_low_entropy: 64 bits at least", ["root", "issuing", "leaf"], ({ serial }) => (serial?.content.length ?? 0) >= 8],
  [
    "the serial number is encoded in as few bytes as can be",
    ["root", "issuing", "leaf"],
    ({ serial }) => serial?.content[0] !== 0 || (serial?.content[1] ?? 0) >= 0x80,
  ],
  [
    "e_cert_sig_alg_not_match_tbs_sig_alg",
    ["root", "issuing", "leaf"],
    ({ inner, outer }) => Buffer.compare(inner?.raw ?? new Uint8Array(), outer?.raw ?? new Uint8Array(1)) === 0,
  ],
  ["e_sub_cert_or_sub_ca_using_sha1", ["root", "issuing", "leaf"], ({ parsed }) => /sha(256|384)/i.test(parsed.facts.signatureAlgorithm)],
  [
    "e_wrong_time_format: UTCTime until 2049, then GeneralizedTime",
    ["root", "issuing", "leaf"],
    ({ validity, parsed }) =>
      [parsed.notBefore, parsed.notAfter].every((at, index) => validity[index]?.tag === (at.getUTCFullYear() < 2050 ? TAG.utcTime : TAG.generalizedTime)),
  ],
  [
    "e_utc_time_does_not_include_seconds, e_utc_time_not_in_zulu",
    ["root", "issuing", "leaf"],
    ({ validity }) => validity.every(({ content }) => /^(\d{2})?\d{12}Z$/.test(Buffer.from(content).toString("latin1"))),
  ],
  ["e_validity_time_not_positive", ["root", "issuing", "leaf"], ({ parsed }) => parsed.notBefore < parsed.notAfter],
  ["e_ext_duplicate_extension", ["root", "issuing", "leaf"], ({ list }) => new Set(list.map((each) => each.oid)).size === list.length],
  ["e_empty_sct_list and others: no extension is empty", ["root", "issuing", "leaf"], ({ list }) => list.every(({ value }) => value.content.length > 0)],
  [
    "no extension says critical FALSE, which is the default",
    ["root", "issuing", "leaf"],
    ({ list }) => list.every(({ parts }) => parts.length === 2 || parts[1]?.content[0] === 0xff),
  ],
  [
    "e_sub_cert_aia_marked_critical, e_ext_ski_marked_critical, e_ext_authority_key_identifier_critical, e_ext_crl_distribution_marked_critical",
    ["root", "issuing", "leaf"],
    ({ extension }) => [OID.aia, OID.ski, OID.aki, OID.cdp].every((oid) => !extension(oid)?.isCritical),
  ],
  ["e_ext_subject_key_identifier_missing_ca", ["root", "issuing", "leaf"], ({ extension }) => extension(OID.ski)?.value.content.length === 20],
  ["e_ext_authority_key_identifier_missing", ["issuing", "leaf"], ({ extension }) => extension(OID.aki)?.value.content[0] === 0x80],
  [
    "e_ca_key_usage_missing, e_ca_key_usage_not_critical, e_ca_key_cert_sign_not_set, e_ca_crl_sign_not_set",
    ["root", "issuing"],
    ({ extension, parsed }) => extension(OID.ku)?.isCritical === true && parsed.facts.keyUsage.join() === "keyCertSign,cRLSign",
  ],
  ["e_basic_constraints_not_critical, e_ca_is_ca", ["root", "issuing"], ({ extension, parsed }) => parsed.isCa && extension(OID.bc)?.isCritical === true],
  ["e_ca_country_name, e_ca_common_name_missing, e_ca_organization_name_missing", ["root"], ({ parsed }) => /^CN=.+,O=.+,C=[A-Z]{2}$/.test(parsed.subject)],
  ["e_ca_subject_field_empty", ["root", "issuing"], ({ subject }) => (subject?.content.length ?? 0) > 0],
  [
    "e_name_constraint_not_critical, e_name_constraint_on_non_ca",
    ["root", "issuing", "leaf"],
    ({ extension, parsed }) => {
      const found = extension(OID.nc);
      return !found || (found.isCritical && parsed.isCa);
    },
  ],
  [
    "e_sub_ca_aia_missing, e_sub_cert_aia_does_not_contain_ocsp_url, w_sub_cert_aia_does_not_contain_issuing_ca_url",
    ["issuing", "leaf"],
    ({ x509 }) => /OCSP - URI:http.*\/ocsp/.test(x509.infoAccess ?? "") && /CA Issuers - URI:http.*\/ca\.crt/.test(x509.infoAccess ?? ""),
  ],
  ["e_sub_ca_crl_distribution_points_missing", ["issuing", "leaf"], ({ extension }) => Buffer.from(extension(OID.cdp)?.value.raw ?? []).includes("/crl")],
  ["e_sub_cert_not_is_ca", ["leaf"], ({ parsed }) => !parsed.isCa],
  [
    "e_sub_cert_key_usage_cert_sign_bit_set, e_sub_cert_key_usage_crl_sign_bit_set",
    ["leaf"],
    ({ parsed }) => !parsed.facts.keyUsage.some((each) => /Sign$/.test(each)),
  ],
  [
    "e_ecdsa_allowed_ku, e_rsa_allowed_ku_ee: key usage by the key, critical",
    ["leaf"],
    ({ extension, parsed }) => {
      const isRsaServer = parsed.facts.key.algorithm === "RSA" && parsed.facts.extendedKeyUsage.includes("serverAuth");
      return extension(OID.ku)?.isCritical === true && parsed.facts.keyUsage.join() === (isRsaServer ? "digitalSignature,keyEncipherment" : "digitalSignature");
    },
  ],
  [
    "e_sub_cert_eku_missing, e_sub_cert_eku_server_auth_client_auth_missing, e_sub_cert_eku_contains_any",
    ["leaf"],
    ({ parsed }) => ["serverAuth", "clientAuth", "serverAuth,clientAuth"].includes(parsed.facts.extendedKeyUsage.join()),
  ],
  [
    "e_ext_san_missing, e_ext_san_no_entries, e_ext_san_empty_name",
    ["leaf"],
    ({ extension }) => {
      const names = children(extension(OID.san)?.value as Der, TAG.sequence);
      return names.length > 0 && names.every((each) => each.content.length > 0);
    },
  ],
  [
    "e_ext_san_not_critical_without_subject, w_ext_san_critical_with_subject_dn",
    ["leaf"],
    ({ extension, subject }) => extension(OID.san)?.isCritical === (subject?.content.length === 0),
  ],
  [
    "e_subject_common_name_not_from_san, e_subject_common_name_max_length, e_subject_common_name_not_exactly_from_san",
    ["leaf"],
    ({ parsed }) => {
      const { dns: domains, ip: addresses } = parsed.facts.subjectAlternativeNames;
      return parsed.subject === "" || (parsed.subject.length <= 67 && [...domains, ...addresses].includes(parsed.subject.replace("CN=", "")));
    },
  ],
  ["e_tls_server_cert_valid_time_longer_than_398_days", ["leaf"], ({ parsed }) => parsed.notAfter.getTime() - parsed.notBefore.getTime() <= 398 * 86_400_000],
];

describe.each(certificates)("%s certificate", (_, kind, pem) => {
  const certificate = read(pem);
  test.each(LINTS.filter(([, of]) => of.includes(kind)))("%s", (_, __, holds) => {
    expect(holds(certificate)).toBe(true);
  });
});

test("a serial number is random: none of 50 comes twice", async () => {
  const all = await Promise.all(Array.from({ length: 50 }, () => mustIssue(openssl, organization, ecdsa.issuing)));
  expect(new Set(all.map((each) => each.serialNumber)).size).toBe(50);
});
