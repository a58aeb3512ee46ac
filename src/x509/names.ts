import { children, contentOf, type Der, DerError, readOid, TAG } from "./der";

/** One attribute of a distinguished name: its OID and its value as text. */
export type Attribute = { oid: string; value: string };
/** A distinguished name as it is encoded: relative names from the root down, each a set of attributes. */
export type Name = Attribute[][];

const COMMON_NAME = "2.5.4.3";

/** The short names of RFC 4514 and RFC 4519; any other attribute is written by its OID. */
const SHORT_NAMES: Record<string, string> = {
  [COMMON_NAME]: "CN",
  "2.5.4.4": "SN",
  "2.5.4.5": "serialNumber",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.9": "STREET",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
  "2.5.4.12": "title",
  "2.5.4.17": "postalCode",
  "2.5.4.42": "GN",
  "2.5.4.97": "organizationIdentifier",
  "0.9.2342.19200300.100.1.1": "UID",
  "0.9.2342.19200300.100.1.25": "DC",
  "1.2.840.113549.1.9.1": "emailAddress",
};

export function readName(element: Der | undefined): Name {
  return children(element, TAG.sequence).map((relative) =>
    children(relative, TAG.set).map((attribute) => {
      const [oid, value] = children(attribute, TAG.sequence);
      return { oid: readOid(oid), value: readString(value) };
    }),
  );
}

/** RFC 4514: the most specific part first, special characters escaped. */
export function formatName(name: Name) {
  const part = ({ oid, value }: Attribute) => `${SHORT_NAMES[oid] ?? oid}=${escapeValue(value)}`;
  return name
    .toReversed()
    .map((relative) => relative.map(part).join("+"))
    .join(",");
}

function escapeValue(value: string) {
  return value
    .replace(/[",+;<>\\]/g, "\\$&")
    .replace(/^[ #]/, "\\$&")
    .replace(/ $/, "\\ ")
    .replaceAll("\0", "\\00");
}

const attribute = (name: Name, oid: string) => name.flat().findLast((each) => each.oid === oid && each.value.trim() !== "")?.value;

/** Returns a name for people: the common name, else the first DNS name, else the most specific part of the subject. */
export function readableName(subject: Name, dnsNames: string[], fingerprint: string) {
  const [organizationalUnit, organization] = [attribute(subject, "2.5.4.11"), attribute(subject, "2.5.4.10")];
  const named = attribute(subject, COMMON_NAME) ?? dnsNames[0] ?? organizationalUnit ?? organization ?? formatName(subject);
  return named.replaceAll("\0", "\\0") || `Certificate ${fingerprint.slice(0, 16)}`;
}

/** A DirectoryString or one of its older relatives; a value of any other type is shown as RFC 4514 does: `#` and its bytes. */
function readString(element: Der | undefined) {
  const content = Buffer.from(element?.content ?? []);
  switch (element?.tag) {
    case TAG.utf8:
      return decode("utf-8", content);
    case 30: // BMPString
      return decode("utf-16be", content);
    case 28: // UniversalString
      return Array.from({ length: content.length >> 2 }, (_, index) => codePoint(content.readUInt32BE(index * 4))).join("");
    case 18: // NumericString
    case 19: // PrintableString
    case 20: // TeletexString, in practice Latin-1
    case 22: // IA5String
    case 26: // VisibleString
      return content.toString("latin1");
    default:
      return `#${Buffer.from(element?.raw ?? []).toString("hex")}`;
  }
}

function decode(encoding: "utf-8" | "utf-16be", content: Uint8Array) {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new DerError(`a name that is not ${encoding.toUpperCase()}`);
  }
}

function codePoint(code: number) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw new DerError("a name with a character beyond Unicode");
  return String.fromCodePoint(code);
}

export type AlternativeNames = { dns: string[]; ip: string[]; email: string[]; uri: string[] };

/** The GeneralNames of a subject alternative name; directory names, other names and registered ids are left out. */
export function readAlternativeNames(element: Der | undefined): AlternativeNames {
  const names = children(element, TAG.sequence);
  const ofTag = (tag: number) => names.filter((each) => each.tag === tag).map((each) => Buffer.from(contentOf(each, tag)));
  const text = (each: Buffer) => (each.every((byte) => byte < 0x80) ? each.toString("latin1") : decodeLoosely(each)).replaceAll("\0", "\\0");
  return { dns: ofTag(0x82).map(text), ip: ofTag(0x87).map(formatAddress), email: ofTag(0x81).map(text), uri: ofTag(0x86).map(text) };
}

/** IA5String is ASCII; what is not is shown as UTF-8 if it is that, else as Latin-1. */
function decodeLoosely(bytes: Buffer) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString("latin1");
  }
}

function formatAddress(bytes: Buffer) {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return `#${bytes.toString("hex")}`;
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(":");
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}
