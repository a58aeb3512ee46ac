import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mint } from "#demo/mint";
import { linkCertificates, linking } from "#jobs/link-certificates";
import { prepareJobs, runQueuedJobs } from "#jobs/start";
import { linkChains } from "#modules/certificates/certificates/queries/chains";
import { certificate, chain, importInto, inDays } from "../../../support/pki/certificates";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const { sql } = world;
const running = new AbortController().signal;
const runJob = (signal = running) => linkCertificates({ sql })({}, signal);
const issuersIn = ({ id }: TestOrganization) =>
  sql<{ id: string; issuer: string | null }[]>`select id, issuer_id as issuer from certificates where organization_id = ${id} order by id`;
const unlinked = async ({ id }: TestOrganization) =>
  (await sql`select id from certificates where organization_id = ${id} and issuer_id is null and not self_signed`).length;
const pending = async ({ id }: TestOrganization) => (await sql`select from pending_links where organization_id = ${id}`).length;
/** Unlinked certificates that no row of `pending_links` is about: neither they nor an issuer of their issuer's name. */
const forgotten = async ({ id }: TestOrganization) => sql`
  select id from certificates c where organization_id = ${id} and issuer_id is null and not self_signed and not exists (
    select from pending_links p join certificates i on (i.organization_id, i.id) = (p.organization_id, p.certificate_id)
    where p.organization_id = ${id} and (i.id = c.id or i.subject_hash = c.issuer_hash))`;
/** What an import had no time for waits in `pending_links`, and nothing else is unlinked; the job then links it. */
async function expectAllLinked(organization: TestOrganization) {
  expect([...(await forgotten(organization))]).toEqual([]);
  await sql`update pending_links set due_at = now() where organization_id = ${organization.id}`;
  await runJob();
  expect([await unlinked(organization), await pending(organization)]).toEqual([0, 0]);
}
const issuerOf = async (organization: TestOrganization, id: string | undefined) =>
  (await organization.admin("GET", `/certificates/${id}`)).body.issuerCertificateId;
const importOf = (organization: TestOrganization, pem: string) => organization.admin("POST", "/certificates", { body: { pem } });
/** As if its import had been cut off before it looked for issuers. */
const unlink = ({ id }: TestOrganization) => sql`update certificates set issuer_id = null where organization_id = ${id}`;
const queue = ({ id }: TestOrganization) =>
  sql`
    insert into pending_links (organization_id, certificate_id, due_at)
    select organization_id, id, now() - interval '1 second' from certificates where organization_id = ${id}
    on conflict (organization_id, certificate_id) do update set due_at = excluded.due_at`;

beforeEach(async () => {
  await sql`delete from pending_links`;
});

describe("POST /organizations/{organizationId}/certificates", () => {
  test("201 links a leaf and its issuer that are imported at the same moment, 200 pairs of 200", async () => {
    const organization = await newOrganization();
    const pairs = Array.from({ length: 200 }, (_, index) => {
      const issuer = certificate({ commonName: `Issuer ${index}`, isCa: true });
      return [issuer.pem, certificate({ issuer }).pem] as const;
    });
    for (const [issuer, leaf] of pairs) {
      const answers = await Promise.all([importOf(organization, leaf), importOf(organization, issuer)]);
      expect(answers.map((each) => each.status)).toEqual([201, 201]);
    }
    await expectAllLinked(organization);
  });

  test("201 links the three levels of 50 chains that are all imported at the same moment", async () => {
    const organization = await newOrganization();
    for (let round = 0; round < 5; round++) {
      const pems = Array.from({ length: 10 }, () => Object.values(chain()).map((each) => each.pem)).flat();
      const answers = await Promise.all(pems.map((pem) => importOf(organization, pem)));
      expect(new Set(answers.map((each) => each.status))).toEqual(new Set([201]));
    }
    await expectAllLinked(organization);
  });

  test("200 for a duplicate links what was left unlinked: the leaf's import as well as the issuer's", async () => {
    for (const again of ["leaf", "intermediate"] as const) {
      const organization = await newOrganization();
      const made = chain();
      const [leaf, issuer] = await importInto(organization, made.leaf.pem, made.intermediate.pem);
      await unlink(organization);
      expect((await importOf(organization, made[again].pem)).status).toBe(200);
      expect(await issuerOf(organization, leaf)).toBe(issuer);
    }
  });

  test("201 links to the issuer's certificate that is valid longest, of those with the key that signed", async () => {
    const organization = await newOrganization();
    const [rootA, rootB] = [certificate({ commonName: "Root A", isCa: true }), certificate({ commonName: "Root B", isCa: true })];
    const own = certificate({ commonName: "Crossed", isCa: true, days: 100 });
    const crossed = [50, 300, 200].map((days) => crossSign(own, days % 100 === 0 ? rootA : rootB, days));
    const impostor = certificate({ commonName: "Crossed", isCa: true, days: 400 });
    const leaf = certificate({ issuer: own });
    const ids = await importInto(organization, own.pem, impostor.pem, ...crossed, leaf.pem);
    expect(await issuerOf(organization, ids.at(-1))).toBe(ids[3] ?? "");
    await importInto(organization, crossSign(own, rootA, 500));
    expect(await issuerOf(organization, ids.at(-1))).toBe(ids[3] ?? ""); // a link that stands is left alone
  });

  test("201 links hundreds of leaves to the issuer that comes after them, and finds it among others of its name", async () => {
    const organization = await newOrganization();
    const issuers = Array.from({ length: 20 }, () => certificate({ commonName: "kubernetes", isCa: true }));
    const leaves = issuers.flatMap((issuer) => Array.from({ length: 15 }, () => certificate({ issuer }).pem));
    await importInto(organization, ...leaves);
    expect(await unlinked(organization)).toBe(leaves.length);
    await importInto(organization, ...issuers.map((each) => each.pem));
    await expectAllLinked(organization);
  });

  test("201 in any order gives the same links", async () => {
    const own = certificate({ commonName: "Crossed", isCa: true, days: 100 });
    const root = certificate({ commonName: "Root", isCa: true });
    const pems = [certificate({ issuer: own }).pem, own.pem, crossSign(own, root, 300), root.pem];
    const shapes = await Promise.all(
      [pems, pems.toReversed(), [...pems.slice(2), ...pems.slice(0, 2)]].map(async (order) => {
        const organization = await newOrganization();
        await importInto(organization, order.join(""));
        const rows = await sql<{ pem: string; issuer: string | null }[]>`
          select c.pem, i.pem as issuer from certificates c left join certificates i on i.organization_id = c.organization_id and i.id = c.issuer_id
          where c.organization_id = ${organization.id} order by c.fingerprint_sha256`;
        return [...rows];
      }),
    );
    expect(shapes[1]).toEqual(shapes[0] ?? []);
    expect(shapes[2]).toEqual(shapes[0] ?? []);
  });
});

/** Another certificate of the same name and key. */
function crossSign(own: ReturnType<typeof mint>, issuer: ReturnType<typeof mint>, days: number) {
  return mint({ commonName: "Crossed", isCa: true, issuer, key: own, notBefore: inDays(-1), notAfter: inDays(days) }).pem;
}

describe("the job that links certificates", () => {
  test("links what an import left when it was cut off", async () => {
    const organization = await newOrganization();
    const made = chain();
    await importInto(organization, made.root.pem, made.leaf.pem, made.intermediate.pem);
    const linked = await issuersIn(organization);
    await unlink(organization);
    await queue(organization);
    const stopped = AbortSignal.abort(new Error("stopped"));
    const ids = linked.map((each) => each.id);
    await expect(linkChains(sql, organization.id, ids, stopped)).rejects.toThrow("stopped");
    expect(await pending(organization)).toBe(3);
    await runJob();
    expect(await issuersIn(organization)).toEqual(linked);
    expect(await pending(organization)).toBe(0);
  });

  test("links what another release stored, ten seconds after at the earliest", async () => {
    const organization = await newOrganization();
    const made = chain();
    const [leaf, issuer] = await importInto(organization, made.leaf.pem, made.intermediate.pem);
    const copy = await newOrganization();
    await sql`
      insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
        is_ca, self_signed, facts, pem, search)
      select ${copy.id}, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after, is_ca, self_signed, facts, pem, search
      from certificates where organization_id = ${organization.id}`;
    await runJob();
    expect(await issuerOf(copy, leaf)).toBeNull();
    await sql`update pending_links set due_at = due_at - interval '11 seconds'`;
    await runJob();
    expect(await issuerOf(copy, leaf)).toBe(issuer);
  });

  test("does the work of 1,000 certificates once, on however many servers it runs", async () => {
    const organization = await newOrganization();
    const root = certificate({ commonName: "Root", isCa: true });
    await importInto(organization, root.pem, ...Array.from({ length: 1_000 }, () => certificate({ issuer: root }).pem));
    await unlink(organization);
    await queue(organization);
    await Promise.all([runJob(), runJob(), runJob(), runJob()]);
    expect([await unlinked(organization), await pending(organization)]).toEqual([0, 0]);
  });

  test("never links to one of the issuer's name that did not sign", async () => {
    const organization = await newOrganization();
    const { leaf } = chain();
    const impostors = Array.from({ length: 20 }, () => certificate({ commonName: "Test Issuing CA", isCa: true }).pem);
    const ids = await importInto(organization, leaf.pem, ...impostors);
    await queue(organization);
    await runJob();
    expect(await issuerOf(organization, ids[0])).toBeNull();
    expect(await pending(organization)).toBe(0);
  });

  test("is due each minute, and the queue runs it", async () => {
    const organization = await newOrganization();
    const made = chain();
    await importInto(organization, made.leaf.pem, made.intermediate.pem);
    await unlink(organization);
    await queue(organization);
    const { queue: jobs } = world.deps;
    await prepareJobs(world.deps);
    try {
      expect([...(await sql`select cron from pgboss.schedule where name = ${linking.name}`)]).toEqual([{ cron: "* * * * *" }]);
      await runQueuedJobs(world.deps, world.app.handle);
      await sql.begin((tx) => jobs.send(tx, linking.name, crypto.randomUUID(), {}));
      jobs.wake(linking.name);
      while ((await pending(organization)) > 0) await Bun.sleep(50);
    } finally {
      await jobs.stop();
    }
    expect(await unlinked(organization)).toBe(1); // the intermediate, whose root is not here
  });
});
