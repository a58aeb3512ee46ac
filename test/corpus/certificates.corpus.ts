import { describe, expect, test } from "bun:test";
import { newOrganization } from "../support/server/people";

// A corpus of public certificates, one JSON a line, named by CERTIFICATE_CORPUS (gzip): what other parsers say of each is its expectation.
type Entry = { id: string; cls: "valid" | "odd" | "malformed" | "not-a-certificate"; pem_b64: string; expect?: Expected };
type Expected = { fingerprint_sha256: string; serial_hex: string; not_before: string; not_after: string; common_names?: string[]; san_dns?: string[] };

const file = Bun.env.CERTIFICATE_CORPUS;
if (!file) throw new Error("CERTIFICATE_CORPUS must name the corpus, a .jsonl.gz");
const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(file).bytes()));
const corpus: Entry[] = text.split("\n").flatMap((line) => (line ? [JSON.parse(line)] : []));
const ofClass = (...classes: Entry["cls"][]) => corpus.filter((each) => classes.includes(each.cls));

const organization = await newOrganization();
const counts: Record<string, number> = {};

async function importOne({ id, cls, pem_b64 }: Entry) {
  const startedAt = performance.now();
  const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: Buffer.from(pem_b64, "base64").toString("latin1") } });
  if (performance.now() - startedAt > 1_000) throw new Error(`${id} took over a second`);
  const outcome = status >= 500 ? "failed" : status >= 400 ? "refused" : "imported";
  counts[`${cls} ${outcome}`] = (counts[`${cls} ${outcome}`] ?? 0) + 1;
  return { status, stored: [...(body.imported ?? []), ...(body.duplicates ?? [])].toSorted((a, b) => a.index - b.index)[0] };
}

async function read({ pem_b64, expect: expected }: Entry, id: string) {
  const { body } = await organization.admin("GET", `/certificates/${id}`);
  const names = expected?.common_names ?? [];
  const alternatives = expected?.san_dns;
  return {
    fingerprint_sha256: body.fingerprintSha256,
    serial_hex: body.serialNumber,
    not_before: body.notBefore,
    not_after: body.notAfter,
    // Of several common names the most specific is shown; of none, something readable.
    common_names: names.includes(body.commonName) || (names.every((name) => name.trim() === "") && body.commonName !== "") ? names : [body.commonName],
    ...(alternatives && { san_dns: body.subjectAlternativeNames.dns }),
    pem: pem_b64,
  };
}

const instant = (text: string) => new Date(text).toISOString();

function expectationOf({ pem_b64, expect: expected }: Entry) {
  if (!expected) throw new Error("an entry without expectations");
  const { common_names = [], san_dns, fingerprint_sha256, serial_hex } = expected;
  return {
    fingerprint_sha256,
    serial_hex,
    not_before: instant(expected.not_before),
    not_after: instant(expected.not_after),
    common_names,
    ...(san_dns && { san_dns }),
    pem: pem_b64,
  };
}

describe("the public corpus, imported through the API", () => {
  test("every valid certificate is imported with exactly its facts", async () => {
    for (const entry of ofClass("valid")) {
      const { status, stored } = await importOne(entry);
      if (status >= 300) throw new Error(`${entry.id} answered ${status}`);
      expect(await read(entry, stored.id)).toEqual(expectationOf(entry));
    }
  }, 300_000);

  test("every odd certificate is imported faithfully or refused", async () => {
    for (const entry of ofClass("odd")) {
      const { status, stored } = await importOne(entry);
      if (status >= 300) expect({ id: entry.id, status }).toEqual({ id: entry.id, status: 400 });
      else if (entry.expect) expect(await read(entry, stored.id)).toEqual(expectationOf(entry));
    }
  }, 300_000);

  test("everything else is refused", async () => {
    for (const entry of ofClass("malformed", "not-a-certificate")) {
      const { status } = await importOne(entry);
      expect({ id: entry.id, status }).toEqual({ id: entry.id, status: 400 });
    }
    console.info(corpus.length, "entries:", counts);
  }, 300_000);
});
