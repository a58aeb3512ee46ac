import { t } from "elysia";
import { ExactText, Moment, OneOf, PageQuery, Text } from "#http/schema";
import { compileSelector, type Requirement } from "#labels/selector";
import { isUuid } from "#text/uuid";
import { STATUSES } from "./certificates";
import { EXAMPLE_SUMMARY } from "./example";

export const CertificateQuery = t.Object({
  ...PageQuery,
  status: t.Optional(OneOf(STATUSES, { description: "Only certificates in this state" })),
  expiresBefore: t.Optional(Moment({ description: "Only certificates that expire before it" })),
  q: t.Optional(Text({ description: "Words that begin words of the names", max: 200 })),
  owner: t.Optional(Text({ description: "Only certificates of this user; none: without an owner who is an active member", examples: ["none"] })),
  selector: t.Optional(
    Text({
      max: 2_000,
      description: "Only certificates with such labels, in the grammar of Kubernetes: =, ==, !=, in, notin, key and !key",
      examples: ["env=prod,tier!=edge,team in (payments,risk)"],
    }),
  ),
  issuer: t.Optional(
    ExactText({ max: 2_000, description: "Only certificates whose issuer is exactly this name (RFC 4514)", examples: [EXAMPLE_SUMMARY.issuer] }),
  ),
  fingerprint: t.Optional(
    Text({
      description: "Only the certificate with this SHA-256: hexadecimal, in either case, with or without colons",
      examples: [EXAMPLE_SUMMARY.fingerprintSha256],
    }),
  ),
  serial: t.Optional(
    Text({
      description: "Only certificates with this serial number: hexadecimal, in either case; colons and leading zeros do not count",
      examples: [EXAMPLE_SUMMARY.serialNumber],
    }),
  ),
});

/** The filters of a list in stored form. `labels` is a jsonpath predicate, and the labels of which a certificate must have one each. */
export type CertificateFilter = {
  status?: "active" | "expired" | "revoked" | "retired" | undefined;
  expiresBefore?: string | undefined;
  q?: string | undefined;
  /** The id of a user, or `none`. */
  owner?: string | undefined;
  labels?: { path: string; needed: Needed[] } | undefined;
  issuer?: string | undefined;
  fingerprint?: string | undefined;
  serial?: string | undefined;
};
/** A label that a certificate must have, with one of the values; the empty one stands for any. */
type Needed = { key: string; values: string[] };
type FilterQuery = Omit<CertificateFilter, "labels"> & { selector?: string | undefined };

/** The filter of a query, or what is wrong with it. */
export function readFilter({ owner, selector, fingerprint, serial, ...rest }: FilterQuery): CertificateFilter | { invalid: string } {
  if (owner !== undefined && owner !== "none" && !isUuid(owner)) return { invalid: "query.owner must be the id of a user (a UUID) or none." };
  const labels = selector === undefined ? undefined : compileSelector(selector);
  if (labels && "fault" in labels) return { invalid: `query.selector ${labels.fault}.` };
  const [hash, number] = [fingerprint, serial].map((each) => each?.replaceAll(":", "").toLowerCase());
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash))
    return { invalid: "query.fingerprint must be a SHA-256 in hexadecimal: 64 digits, with or without colons." };
  if (number !== undefined && !/^-?[0-9a-f]+$/.test(number)) return { invalid: "query.serial must be a number in hexadecimal, with or without colons." };
  return {
    ...rest,
    owner: owner?.toLowerCase(),
    labels: labels && { path: labels.path, needed: labels.requirements.flatMap(neededBy) },
    fingerprint: hash,
    serial: number && withoutZeros(number),
  };
}

function neededBy({ key, operator, values }: Requirement): Needed[] {
  if (operator === "in") return [{ key, values: [...new Set(values)] }];
  return operator === "exists" ? [{ key, values: [""] }] : [];
}

function withoutZeros(hexadecimal: string) {
  const isNegative = hexadecimal.startsWith("-");
  const value = BigInt(`0x${isNegative ? hexadecimal.slice(1) : hexadecimal}`);
  return (isNegative ? -value : value).toString(16);
}

/**
 * True of a search, of labels, and of several filters together: an index serves each alone, and of several the rows of one may
 * be many that do not fit the others.
 */
export const mayReadMany = ({ status, q, owner, selector, issuer, fingerprint, serial }: FilterQuery) =>
  q !== undefined || selector !== undefined || [status, owner, issuer, fingerprint, serial].filter((each) => each !== undefined).length > 1;
