import { randomBytes } from "node:crypto";
import { sha256 } from "#crypto/sha256";

export const newCalendarKey = () => `cal_${randomBytes(32).toString("base64url")}`;
/** SHA-256, hexadecimal: 32 random bytes need no salt. */
export const hashCalendarKey = (key: string) => sha256(key);

/** Moments are ISO 8601 in UTC. */
export type Expiry = { id: string; commonName: string; issuer: string; notAfter: string; updatedAt: string };

/** Octets of a line, without its end (RFC 5545, 3.1). */
const LINE = 75;
/** Characters that are shown of a name. */
const SHOWN = 200;

const encoder = new TextEncoder();

/** Returns an iCalendar object (RFC 5545) with an event for each expiry, at its moment, under the id of the certificate. */
export function writeCalendar(name: string, expiries: readonly Expiry[]) {
  const title = escapeText(name);
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Certitude//Certificates//EN",
    "CALSCALE:GREGORIAN",
    `NAME:${title}`,
    `X-WR-CALNAME:${title}`,
    "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
    ...expiries.flatMap(writeEvent),
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}

/** The entity tag of a calendar. */
export const tagOf = (calendar: string) => `"${sha256(calendar).slice(0, 32)}"`;

const writeEvent = ({ id, commonName, issuer, notAfter, updatedAt }: Expiry) => [
  "BEGIN:VEVENT",
  `UID:${id}`,
  `DTSTAMP:${writeMoment(updatedAt)}`,
  `DTSTART:${writeMoment(notAfter)}`,
  `SUMMARY:${escapeText(commonName)} expires`,
  `DESCRIPTION:Issued by ${escapeText(issuer)}`,
  "TRANSP:TRANSPARENT",
  "END:VEVENT",
];

/** "2030-01-15T12:00:00.000Z" as 20300115T120000Z. */
const writeMoment = (moment: string) => `${moment.slice(0, 19).replace(/[-:]/g, "")}Z`;

/**
 * Text as a value (RFC 5545, 3.3.11): the name of a certificate begins no line and no property of its own. Control characters
 * become spaces.
 */
function escapeText(text: string) {
  const shown = [...text.slice(0, 2 * SHOWN)].slice(0, SHOWN).join("");
  return shown
    .toWellFormed()
    .replace(/[\\;,]/g, "\\$&")
    .replace(/\r\n?|\n/g, "\\n")
    .replace(/[\p{Cc}\u2028\u2029]/gu, " ");
}

/** Folds a line after at most 75 octets, never within a character. */
function fold(line: string) {
  if (line.length <= LINE / 3) return line;
  let folded = "";
  let octets = 0;
  for (const character of line) {
    const length = character < "\u0080" ? 1 : encoder.encode(character).length;
    if (octets + length > LINE) {
      folded += "\r\n ";
      octets = 1;
    }
    folded += character;
    octets += length;
  }
  return folded;
}
