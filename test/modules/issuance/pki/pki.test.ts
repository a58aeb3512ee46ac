import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { makeEcdsaKey } from "#crypto/private-keys";
import { statusStamper } from "#modules/certificates/certificates/queries/stamps";
import { keyIdOf, nameOf } from "#modules/issuance/authorities/services/certificates";
import { publicKeyOf } from "#modules/issuance/authorities/services/keys";
import { signCrl } from "#modules/issuance/pki/services/crl";
import { publish } from "#modules/issuance/pki/services/publish";
import { certificate, importInto } from "../../../support/pki/certificates";
import { mustIssue, newHierarchy } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

setDefaultTimeout(300_000);
const openssl = newOpenssl();
afterAll(openssl.remove);
const HOUR = 3_600_000;
const REQUEST = { "content-type": "application/ocsp-request" };
const never = new AbortController().signal;

/** A hierarchy in an organization of its own with its files for openssl, and what is often asked of them. */
async function newIssuing(keyAlgorithm = "ecdsa-p256") {
  const organization = await newOrganization();
  const { root, issuing } = await newHierarchy(organization, { keyAlgorithm }, { keyAlgorithm });
  const id = crypto.randomUUID();
  const file = (name: string, content: string | Uint8Array) => openssl.write(`${id}-${name}`, content);
  const roots = file("root.pem", root.certificatePem);
  const ca = file("issuing.pem", issuing.certificatePem);
  const both = file("both.pem", root.certificatePem + issuing.certificatePem);

  async function newLeaf() {
    const { pem, ...issued } = await mustIssue(openssl, organization, issuing);
    return { ...issued, file: file(`${issued.serialNumber}.pem`, pem) };
  }
  const revoke = (certificateId: string, reason?: string) =>
    organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: { ...(reason && { reason }) } });

  /** What the real client says of a certificate. */
  const ocsp = (leaf: { file: string }, ...options: string[]) =>
    openssl.run("ocsp", ...options, "-issuer", ca, "-cert", leaf.file, "-url", issuing.ocspUrl, "-CAfile", both);
  /** A request of the real client, in DER. */
  async function request(leaf: { file: string }, ...options: string[]) {
    await openssl.run("ocsp", "-issuer", ca, "-cert", leaf.file, "-no_nonce", "-reqout", `${id}-request.der`, ...options);
    return new Uint8Array(openssl.read(`${id}-request.der`));
  }
  async function crl(of = issuing) {
    const answer = await fetch(of.crlUrl);
    const der = new Uint8Array(await answer.arrayBuffer());
    const name = file("crl.der", der);
    return { answer, der, text: await openssl.run("crl", "-inform", "DER", "-in", name, "-noout", "-text", "-CAfile", of === issuing ? both : roots), name };
  }
  return { organization, root, issuing, roots, ca, both, file, newLeaf, revoke, ocsp, request, crl };
}

describe("GET /pki/{authorityId}", () => {
  test("404 for an unknown authority, for no id, and for one that is pending", async () => {
    const organization = await newOrganization();
    const { body } = await organization.admin("POST", "/authorities", { body: { kind: "requested", name: "A", subject: { commonName: "A" } } });
    for (const id of [crypto.randomUUID(), "nothing", body.id]) {
      for (const path of ["ca.crt", "crl", "ocsp/MAMKAQY="]) expect((await fetch(`${world.url}/pki/${id}/${path}`)).status).toBe(404);
      expect((await fetch(`${world.url}/pki/${id}/ocsp`, { method: "POST", headers: REQUEST, body: "x" })).status).toBe(404);
    }
  });

  test("200 the certificate, in DER", async () => {
    const { issuing } = await newIssuing();
    const answer = await fetch(issuing.certificateUrl);
    expect(new X509Certificate(Buffer.from(await answer.arrayBuffer())).toString()).toBe(issuing.certificatePem);
    expect([answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([
      "application/pkix-cert",
      "public, max-age=3600, no-transform, must-revalidate",
    ]);
  });
});

describe.each(["ecdsa-p256", "ecdsa-p384", "rsa-2048"])("the CRL of an authority of %s", (keyAlgorithm) => {
  test("200 shows what is revoked, with its reason, at once; openssl refuses that alone", async () => {
    const { newLeaf, revoke, crl, both, issuing, root, organization } = await newIssuing(keyAlgorithm);
    const [good, bad, plain, held] = await Promise.all([newLeaf(), newLeaf(), newLeaf(), newLeaf()]);
    const empty = await crl();
    expect(empty.text).toContain("verify OK");
    expect(empty.text).toContain("No Revoked Certificates.");
    expect(empty.answer.headers.get("content-type")).toBe("application/pkix-crl");
    expect(empty.answer.headers.get("cache-control")).toBe("public, max-age=3600, no-transform, must-revalidate");
    const numberOf = ({ text }: { text: string }) => Number(/CRL Number:\s*(\d+)/.exec(text)?.[1]);

    await revoke(bad.certificateId, "keyCompromise");
    await revoke(plain.certificateId);
    await revoke(held.certificateId, "certificateHold");
    const full = await crl();
    expect(numberOf(full)).toBeGreaterThan(numberOf(empty));
    expect(full.text).toContain("verify OK");
    const entries = full.text.split("Serial Number:").slice(1);
    expect(entries.length).toBe(3);
    expect(entries.find((each) => each.toLowerCase().includes(bad.serialNumber))).toContain("Key Compromise");
    expect(entries.find((each) => each.toLowerCase().includes(plain.serialNumber))).not.toContain("CRL Reason");
    expect(entries.find((each) => each.toLowerCase().includes(held.serialNumber))).toContain("Certificate Hold");

    const verify = (leaf: { file: string }) => openssl.ask("verify", "-crl_check", "-CAfile", both, "-CRLfile", `${full.name}.pem`, leaf.file);
    await openssl.run("crl", "-inform", "DER", "-in", full.name, "-out", `${full.name}.pem`);
    expect((await verify(good)).code).toBe(0);
    expect((await verify(bad)).text).toContain("certificate revoked");

    await organization.admin("POST", `/certificates/${held.certificateId}/reinstate`, {});
    expect((await crl()).text).not.toContain("Certificate Hold");

    await revoke(issuing.certificateId, "cACompromise");
    expect((await crl(root)).text).toContain("CA Compromise");
  });
});

describe("the CRL of an authority", () => {
  test("leaves out what has long expired, and is not signed again while nothing happens", async () => {
    const { newLeaf, revoke, crl, issuing } = await newIssuing();
    const leaf = await newLeaf();
    await revoke(leaf.certificateId);
    const first = await crl();
    expect(await crl().then(({ der }) => der)).toEqual(first.der);
    const later = startServer(world.config, world.database, () => new Date(Date.now() + 400 * 24 * HOUR));
    await publish(later.deps, never);
    await later.server.stop(true);
    const answer = await fetch(`${world.url}/pki/${issuing.id}/crl`);
    const name = openssl.write("later.crl", new Uint8Array(await answer.arrayBuffer()));
    expect(await openssl.run("crl", "-inform", "DER", "-in", name, "-noout", "-text")).toContain("No Revoked Certificates.");
  });

  test("each is an audit event with its number", async () => {
    const { organization, crl } = await newIssuing();
    await crl();
    const [event] = (await organization.admin("GET", "/audit-events?action=authority.crl-signed")).body.items;
    expect(event).toMatchObject({ actor: { type: "server" }, details: { number: 1, entries: 0 } });
  });

  test("takes work in proportion to its entries", async () => {
    const key = makeEcdsaKey("ecdsa-p256");
    const signer = { key, subject: nameOf({ commonName: "A" }), keyId: keyIdOf(publicKeyOf(key)), urls: undefined };
    const at = new Date();
    const entries = (size: number) =>
      Array.from({ length: size }, (_, n) => ({ serialNumber: (n + 2 ** 40).toString(16), revokedAt: at, reason: "superseded" }));
    const sign = (size: number) => signCrl(signer, { number: 1, thisUpdate: at, nextUpdate: at, entries: entries(size) });
    const took = async (size: number) => {
      const before = process.cpuUsage();
      await sign(size);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await took(20_000);
    const [small, large] = [await took(20_000), await took(160_000)];
    expect(large / small).toBeLessThan(8 * 4);
  });
});

describe("POST /pki/{authorityId}/ocsp", () => {
  test.each(["ecdsa-p256", "rsa-2048"])(
    "200 good, then revoked at once with its reason, for the real client of openssl: an authority of %s",
    async (keyAlgorithm) => {
      const { newLeaf, revoke, ocsp, organization } = await newIssuing(keyAlgorithm);
      const [leaf, other] = [await newLeaf(), await newLeaf()];
      for (const options of [[], ["-sha256"], ["-no_nonce"]]) {
        const text = await ocsp(leaf, ...options);
        expect(text).toContain("Response verify OK");
        expect(text).toContain(": good");
      }
      await revoke(leaf.certificateId, "superseded");
      for (const options of [[], ["-sha256"]])
        expect(await ocsp(leaf, ...options)).toMatch(/: revoked[\s\S]*Reason: superseded[\s\S]*Revocation Time[\s\S]*Response verify OK/);
      expect(await ocsp(other)).toContain(": good");
      await world.deps.reads.flush();
      const events = (await organization.admin("GET", "/audit-events?limit=100")).body.items.map(({ action }: { action: string }) => action);
      expect(events).toContain("authority.responder-renewed");
      expect(events).toContain("authority.ocsp-signed");
    },
  );

  test("200 unknown for a number that was never issued; several in one request", async () => {
    const { newLeaf, revoke, ca, both, issuing } = await newIssuing();
    const [leaf, other] = [await newLeaf(), await newLeaf()];
    await revoke(other.certificateId);
    expect(await openssl.run("ocsp", "-issuer", ca, "-serial", "0x1234", "-url", issuing.ocspUrl, "-CAfile", both)).toMatch(
      /0x1234: unknown[\s\S]*Response verify OK/,
    );
    const text = await openssl.run("ocsp", "-issuer", ca, "-cert", leaf.file, "-cert", other.file, "-serial", "77", "-url", issuing.ocspUrl, "-CAfile", both);
    expect(text).toMatch(/: good[\s\S]*: revoked[\s\S]*77: unknown/);
  });

  test("200, and the same answer by GET, escaped or not, until it is due; caches may keep it for an hour", async () => {
    const { newLeaf, request, issuing } = await newIssuing();
    const der = await request(await newLeaf());
    const base64 = Buffer.from(der).toString("base64");
    const posted = await fetch(issuing.ocspUrl, { method: "POST", headers: REQUEST, body: der });
    const bytes = Buffer.from(await posted.arrayBuffer());
    for (const path of [base64, encodeURIComponent(base64), base64.replaceAll("=", "%3d")]) {
      const answer = await fetch(`${issuing.ocspUrl}/${path}`);
      expect([answer.status, Buffer.from(await answer.arrayBuffer()).equals(bytes)]).toEqual([200, true]);
    }
    expect(posted.headers.get("content-type")).toBe("application/ocsp-response");
    expect(posted.headers.get("cache-control")).toBe("public, max-age=3600, no-transform, must-revalidate");
    expect(Date.parse(posted.headers.get("expires") ?? "") - Date.now()).toBeGreaterThan(24 * HOUR);
  });

  test("200 malformed for what is no request, unauthorized for another authority's or another hash; 413 and 415", async () => {
    const { newLeaf, request, issuing } = await newIssuing();
    const leaf = await newLeaf();
    const other = await newIssuing();
    const post = (body: Uint8Array | string, headers = REQUEST) => fetch(issuing.ocspUrl, { method: "POST", headers, body });
    const hexOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer()).toString("hex");
    const many = Buffer.concat(Array.from({ length: 30 }, () => Buffer.from([0x30, 0])));
    for (const body of ["", "nothing", "0\u0080", many]) expect(await hexOf(await post(body))).toBe("30030a0101");
    expect(await hexOf(await fetch(`${issuing.ocspUrl}/%`))).toBe("30030a0101");
    expect(await hexOf(await fetch(`${issuing.ocspUrl}/${"A".repeat(5_000)}`))).toBe("30030a0101");
    expect(await hexOf(await post(await other.request(await other.newLeaf())))).toBe("30030a0106");
    await openssl.run("ocsp", "-sha512", "-issuer", other.ca, "-cert", leaf.file, "-no_nonce", "-reqout", "odd.der");
    expect(await hexOf(await post(new Uint8Array(openssl.read("odd.der"))))).toBe("30030a0106");
    expect((await post(await request(leaf), { "content-type": "text/plain" })).status).toBe(415);
    const large = await post("x".repeat(9_000));
    expect([large.status, await large.json()]).toEqual([413, { message: "The body is larger than 8 KiB." }]);
  });

  // The embedded database is one session: there nobody else holds a row.
  if (Bun.env.TEST_DATABASE_URL)
    test("a CRL that takes its time keeps one connection, for all who ask for it: GET /pki/{authorityId}/crl 200", async () => {
      const { issuing, root } = await newIssuing();
      await fetch(issuing.crlUrl);
      await world.sql`update authority_publications set crl_due_at = now() where authority_id = ${issuing.id}`;
      const session = await world.sql.reserve();
      await session`begin`;
      await session`select from authority_publications where authority_id = ${issuing.id} for update`;
      const asked = Array.from({ length: 50 }, () => fetch(issuing.crlUrl));
      expect((await fetch(root.certificateUrl)).status).toBe(200);
      await session`commit`;
      session.release();
      expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
    });

  test("429 where an address asks for too many unknown ones; what was signed ahead goes on", async () => {
    const { newLeaf, request, issuing, file } = await newIssuing();
    const own = startServer({ ...world.config, rateLimits: { ...world.config.rateLimits, address: { quota: 3, window: 60 } } }, world.database);
    const url = `${own.url}/pki/${issuing.id}/ocsp`;
    const known = await request(await newLeaf());
    await openssl.run("ocsp", "-issuer", file("ca.pem", issuing.certificatePem), "-serial", "5", "-no_nonce", "-reqout", "unknown.der");
    const unknown = new Uint8Array(openssl.read("unknown.der"));
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await fetch(url, { method: "POST", headers: REQUEST, body: unknown })).status);
    expect(statuses).toContain(429);
    expect((await fetch(url, { method: "POST", headers: REQUEST, body: known })).status).toBe(200);
    await own.server.stop(true);
  });
});

describe("the job", () => {
  beforeAll(async () => {
    // Nothing of other tests is left to do.
    await world.sql`update authority_publications set crl_due_at = null, responder_due_at = null`;
    await world.sql`update issued_certificates set ocsp_due_at = null where ocsp_due_at is not null`;
  });
  const at = (hours: number) => startServer(world.config, world.database, () => new Date(Date.now() + hours * HOUR));
  const statesOf = async (id: string) => {
    const [row] = await world.sql<{ number: number; answered: boolean; answerEnds: Date; crlEnds: Date; responder: Uint8Array }[]>`
      select crl_number as number, bool_and(ocsp_answer is not null) as answered, min(ocsp_next_update) as "answerEnds", crl_next_update as "crlEnds", responder_certificate as responder
      from authority_publications as published left join issued_certificates as issued on issued.authority_id = published.authority_id
      where published.authority_id = ${id} group by 1, 4, 5`;
    if (!row) throw new Error("it publishes nothing");
    return { ...row, number: Number(row.number) };
  };

  test("signs everything ahead, again before it ends, and at once what is revoked by whatever writes it", async () => {
    const { newLeaf, issuing, ocsp, crl, organization } = await newIssuing();
    const [leaf, other] = [await newLeaf(), await newLeaf()];
    await publish(world.deps, never);
    const first = await statesOf(issuing.id);
    expect(first).toMatchObject({ number: 1, answered: true });
    await publish(world.deps, never);
    expect(await statesOf(issuing.id)).toEqual(first);

    const later = at(48);
    await publish(later.deps, never);
    const second = await statesOf(issuing.id);
    expect([second.number, second.answerEnds > first.answerEnds, second.crlEnds > first.crlEnds]).toEqual([2, true, true]);
    expect(second.responder).toEqual(first.responder);
    await later.server.stop(true);

    const stampOf = await statusStamper(world.sql, world.deps.stamps, organization.id, { id: leaf.certificateId, versions: undefined });
    await world.sql`
      update certificates set status = 'revoked', status_stamp = ${stampOf("revoked")}, revoked_at = now(), revocation_reason = 'keyCompromise'
      where organization_id = ${organization.id} and id = ${leaf.certificateId}`;
    expect((await statesOf(issuing.id)).answered).toBe(false);
    await publish(world.deps, never);
    const fourth = await statesOf(issuing.id);
    expect([fourth.number, fourth.answered]).toEqual([second.number + 1, true]);
    const early = ["-validity_period", String(2 * 86_400)]; // one answer is of the server whose clock is ahead
    expect(await ocsp(leaf, ...early)).toContain(": revoked");
    expect(await ocsp(other, ...early)).toContain(": good");
    expect((await crl()).text).toContain("Key Compromise");

    const muchLater = at(21 * 24);
    await publish(muchLater.deps, never);
    const third = await statesOf(issuing.id);
    expect(third.responder).not.toEqual(first.responder);
    await muchLater.server.stop(true);
  });

  test("200 with what is there, while the clock of the server that is asked is days ahead of the database's: nothing of a wrong time takes its place", async () => {
    const { newLeaf, issuing, request } = await newIssuing();
    const asked = await request(await newLeaf());
    await publish(world.deps, never);
    const served = async (base: string) => {
      const crl = await fetch(`${base}${new URL(issuing.crlUrl).pathname}`);
      const answer = await fetch(`${base}${new URL(issuing.ocspUrl).pathname}`, { method: "POST", headers: REQUEST, body: asked });
      return [crl.status, answer.status, ...(await Promise.all([crl, answer].map(async (each) => Buffer.from(await each.arrayBuffer()).toString("base64"))))];
    };
    const right = await served(world.url);
    expect(right.slice(0, 2)).toEqual([200, 200]);
    const wrong = at(30 * 24);
    expect(await served(wrong.url)).toEqual(right);
    expect(await served(world.url)).toEqual(right);
    await wrong.server.stop(true);
  });

  test("several servers at once sign each once; nothing is signed ahead for what has expired, and nothing at all once the authority has ended", async () => {
    const { newLeaf, issuing } = await newIssuing();
    await newLeaf();
    await Promise.all(Array.from({ length: 4 }, () => publish(world.deps, never)));
    expect((await statesOf(issuing.id)).number).toBe(1);
    const after = at(6 * 365 * 24);
    await publish(after.deps, never);
    const last = await statesOf(issuing.id);
    await publish(after.deps, never);
    expect(await statesOf(issuing.id)).toEqual(last);
    const due = await world.sql`select from issued_certificates where authority_id = ${issuing.id} and ocsp_due_at is not null`;
    const published = await world.sql`select from authority_publications where authority_id = ${issuing.id} and crl_due_at is not null`;
    expect([[...due], [...published]]).toEqual([[], []]);
    await after.server.stop(true);
  });

  test("an authority whose key does not open holds up no other, and the job says so", async () => {
    const [broken, sound] = [await newIssuing(), await newIssuing()];
    await broken.newLeaf();
    await sound.newLeaf();
    await world.sql`update authorities set sealed_private_key = sealed_private_key || 'x' where id = ${broken.issuing.id}`;
    expect(await publish(world.deps, never).catch((error: Error) => error.message)).toBe("Unsupported state or unable to authenticate data");
    expect(await statesOf(sound.issuing.id)).toMatchObject({ number: 1, answered: true });
    expect(await statesOf(broken.issuing.id)).toMatchObject({ number: 0, answered: false });
    expect((await fetch(broken.issuing.crlUrl)).status).toBe(500);
    await world.sql`delete from authority_publications where authority_id = ${broken.issuing.id}`;
    await world.sql`delete from issued_certificates where authority_id = ${broken.issuing.id}`;
  });

  test("a revocation of a certificate that no authority of ours issued changes nothing", async () => {
    const { organization, issuing, revoke } = await newIssuing();
    await publish(world.deps, never);
    const before = await statesOf(issuing.id);
    const [id = ""] = await importInto(organization, certificate().pem);
    expect((await revoke(id)).status).toBe(200);
    await publish(world.deps, never);
    expect(await statesOf(issuing.id)).toEqual(before);
  });
});
