import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { ENDINGS, finish, killAtEachStep, type Piece, runHere, startJobProcess } from "../support/server/crash";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(900_000);

const { sql } = world;
const jobs = ["issue-own-certificates"];
const tables = ["issuers", "certificate_requests", "certificate_request_steps", "certificates", "issued_certificates", "audit_tail", "notification_events"];

type Ordered = Piece & { organization: TestOrganization; ids: string[] };

/** An authority of the organization, and orders at it whose keys the server makes. */
async function ordered(size = 1): Promise<Ordered> {
  const organization = await newOrganization();
  const make = async (path: string, body: object) => {
    const answer = await organization.admin("POST", path, { body });
    if (answer.status >= 300) throw new Error(`POST ${path} was answered ${answer.status}: ${answer.text}`);
    return answer.body.id as string;
  };
  const authorityId = await make("/authorities", { kind: "root", name: "Root", subject: { commonName: "Killed Root" } });
  const issuerId = await make("/issuers", { kind: "internal", name: "Ours", config: { authorityId } });
  const order = () => make("/certificate-requests", { issuerId, names: [`${crypto.randomUUID()}.example.org`], key: { location: "server" } });
  const ids = await Promise.all(Array.from({ length: size }, order));
  const isDone = async () => (await sql`select from certificate_requests where organization_id = ${organization.id} and ended_at is null`).length === 0;
  return { organization, ids, isDone };
}

/** Its claims end, as they do by themselves 15 s later. */
async function endClaims({ organization }: Ordered) {
  await sql`update certificate_requests set due_at = now(), claimed_until = null where organization_id = ${organization.id} and ended_at is null`;
  await sql`update issuers set due_at = now() where organization_id = ${organization.id}`;
}

/** Each order has one certificate, which has its key; none was issued twice or is stored without an order; each step and event is there once. */
async function isIssuedOnce({ organization: { id }, ids }: Ordered) {
  const requests = await sql<{ status: string; hasKey: boolean; isLeaf: boolean }[]>`
    select r.status, c.sealed_private_key is not null as "hasKey", not c.is_ca as "isLeaf"
    from certificate_requests r join certificates c on c.organization_id = r.organization_id and c.id = r.certificate_id where r.organization_id = ${id}`;
  expect([...requests]).toEqual(ids.map(() => ({ status: "issued", hasKey: true, isLeaf: true })));
  expect(await sql`select from certificates where organization_id = ${id} and not is_ca`).toHaveLength(ids.length);
  expect(await sql`select from issued_certificates where organization_id = ${id}`).toHaveLength(ids.length);
  const steps = await sql<{ statuses: string[] }[]>`
    select jsonb_agg(status order by id) as statuses from certificate_request_steps where organization_id = ${id} group by request_id`;
  expect([...steps]).toEqual(ids.map(() => ({ statuses: ["pending", "pending", "issued"] })));
  const events = await sql<{ action: string; times: number }[]>`
    select action, count(*)::int as times from audit_events where organization_id = ${id} and target_type = 'certificate-request' group by action order by action`;
  expect([...events]).toEqual(["created", "issued", "key-made"].map((each) => ({ action: `certificate-request.${each}`, times: ids.length })));
  expect(await sql`select from notification_events where organization_id = ${id} and kind = 'certificate_issued'`).toHaveLength(ids.length);
}

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL) {
  beforeAll(async () => {
    await prepareJobs(world.deps);
    await sql`update issuers set due_at = null where due_at is not null`; // nothing of other tests is left to do
  });
  afterAll(() => world.deps.queue.stop());

  describe("a process that is killed right before each of its writes, while it has certificates issued", () => {
    test.each(ENDINGS)("is taken over, and each order is issued once: %s", async (_, endings) => {
      const steps = await killAtEachStep({ jobs, tables, make: () => ordered(), afterKill: endClaims, verify: isIssuedOnce }, endings);
      expect(steps).toBeGreaterThanOrEqual(10);
    });

    test("two processes at once issue each once", async () => {
      const work = await Promise.all(Array.from({ length: 4 }, () => ordered(20)));
      const other = await startJobProcess(jobs);
      other.go();
      await runHere(jobs, () => Promise.all(work.map(finish)));
      await other.kill();
      for (const each of work) await isIssuedOnce(each);
    });
  });
}
