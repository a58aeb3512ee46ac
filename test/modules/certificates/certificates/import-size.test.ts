import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { MAX_BLOCKS } from "#modules/certificates/certificates/schema/certificates";
import { certificate } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const COUNT = MAX_BLOCKS / 4;

/** In ms of the processor, not by the clock, which runs on while other programs have the processor. */
function spent() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Runs `work` and returns what it cost and, of that, the most that the event loop gave it without a look at anything else. */
async function measure<Result>(work: () => Promise<Result>) {
  let longest = 0;
  let last = spent();
  const timer = setInterval(() => {
    const now = spent();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  const startedAt = spent();
  const result = await work();
  clearInterval(timer);
  return { result, took: spent() - startedAt, longest: Math.max(longest, spent() - last) };
}

describe("POST /organizations/{organizationId}/certificates", () => {
  test("201 for hundreds of certificates, and no other request waits for a quarter of that time", async () => {
    const organization = await newOrganization();
    const issuer = certificate({ commonName: "Issuer", isCa: true });
    const pems = [issuer.pem, ...Array.from({ length: COUNT - 1 }, () => certificate({ issuer }).pem)];
    const body = JSON.stringify({ pem: pems.join("") });
    const headers = { ...organization.headers("ORG_ADMIN"), "content-type": "application/json" };
    const { result, took, longest } = await measure(() => organization.admin("POST", "/certificates", { raw: body, headers }));
    expect({ status: result.status, imported: result.body.imported?.length }).toEqual({ status: 201, imported: COUNT });
    expect({ took, longest, isSliced: longest < took / 4 }).toEqual({ took, longest, isSliced: true });
    const { items } = (await organization.admin("GET", "/certificates?limit=100")).body;
    expect(items.filter((each: { selfSigned: boolean; issuerCertificateId: string | null }) => !each.selfSigned && each.issuerCertificateId === null)).toEqual(
      [],
    );
  });

  test("201 for as many as one request may hold; where a busy machine answers 503, sending them again stores the rest", async () => {
    const organization = await newOrganization();
    const body = { pem: Array.from({ length: MAX_BLOCKS }, () => certificate().pem).join("") };
    let answer = await organization.admin("POST", "/certificates", { body });
    for (let again = 0; answer.status === 503 && again < 10; again++) answer = await organization.admin("POST", "/certificates", { body });
    expect([200, 201]).toContain(answer.status);
    expect(answer.body.imported.length + answer.body.duplicates.length).toBe(MAX_BLOCKS);
    const [row] = await world.sql`select count(*)::int as count from certificates where organization_id = ${organization.id}`;
    expect(row?.count).toBe(MAX_BLOCKS);
  });

  test("201 for a certificate with 10,000 names, which are all there", async () => {
    const organization = await newOrganization();
    const dns = Array.from({ length: 10_000 }, (_, index) => `host-${index}.example`);
    const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: certificate({ dns }).pem } });
    expect(status).toBe(201);
    const read = await organization.admin("GET", `/certificates/${body.imported[0].id}`);
    expect(read.body.subjectAlternativeNames.dns).toEqual(dns);
  });

  test.each([
    ["a line of eight million letters", "A".repeat(8_000_000)],
    ["eight million dashes", "-".repeat(8_000_000)],
    ["a million lines of dashes", "-----\n".repeat(1_000_000)],
    ["a block without an end", `-----BEGIN CERTIFICATE-----\n${"AAAA\n".repeat(1_000_000)}`],
    ["BEGIN lines alone", "-----BEGIN A-----\n".repeat(80_000)],
  ])("400 for %s, and the answer is short", async (_, pem) => {
    const organization = await newOrganization();
    const { status, text } = await organization.admin("POST", "/certificates", { body: { pem } });
    expect({ status, isShort: text.length < 300 }).toEqual({ status: 400, isShort: true });
  });
});
