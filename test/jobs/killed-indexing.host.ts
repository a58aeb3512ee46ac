import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { ENDINGS, finish, killAtEachStep, type Piece, runHere, startJobProcess } from "../support/server/crash";
import { newStaff, upload } from "../support/server/knowledge";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(900_000);

const { sql } = world;
const count = async (rows: PromiseLike<readonly unknown[]>) => (await rows).length;
const eventsOf = ({ id }: { id: string }, action: string) => sql`select from audit_events where organization_id = ${id} and action = ${action}`;

if (!Bun.env.TEST_DATABASE_URL) throw new Error("TEST_DATABASE_URL is missing: a process of its own needs a database that takes more than one");

beforeAll(async () => {
  await prepareJobs(world.deps);
  await sql`delete from pgboss.job`;
});
afterAll(() => world.deps.queue.stop());

describe("a process that is killed right before each of its writes, while it indexes a document", () => {
  const jobs = ["index-document", "index-document-failed"];
  const tables = ["documents", "document_chunks"];
  const TEXT = Array.from({ length: 300 }, (_, index) => `# Chapter ${index}\n\n${"Keys rotate yearly. ".repeat(40)}`).join("\n\n");
  let staff: Awaited<ReturnType<typeof newStaff>>;
  beforeAll(async () => {
    staff = await newStaff();
  });
  type Uploaded = Piece & { organization: TestOrganization; id: string };

  async function uploaded(): Promise<Uploaded> {
    const organization = await newOrganization();
    const { id } = await upload(staff, organization.id, { text: TEXT });
    const isDone = async () =>
      (await count(sql`select from documents where organization_id = ${organization.id} and status = 'ready'`)) === 1 &&
      (await count(sql`select from pgboss.job where name = 'index-document' and state in ('created', 'retry', 'active')`)) === 0;
    return { organization, id, isDone };
  }

  /** Each passage is there once, and its indexing is noted once. */
  async function isIndexedOnce({ organization, id }: Uploaded) {
    const [row] = await sql`
      select d.chunk_count as said, count(*)::int as kept, count(distinct chunk_index)::int as different, count(distinct c.generation)::int as generations
      from documents d join document_chunks c on c.organization_id = d.organization_id and c.document_id = d.id
      where d.organization_id = ${organization.id} and d.id = ${id} group by d.chunk_count`;
    expect(row?.said).toBeGreaterThan(100); // more than one request of chunks
    expect(row).toEqual({ said: row?.said, kept: row?.said, different: row?.said, generations: 1 });
    expect(await count(eventsOf(organization, "document.indexed"))).toBe(1);
    expect(await count(eventsOf(organization, "document.indexing-failed"))).toBe(0);
  }

  test.each(ENDINGS)("is taken over, and each passage is stored once: %s", async (_, endings) => {
    const steps = await killAtEachStep({ jobs, tables, make: uploaded, verify: isIndexedOnce }, endings);
    expect(steps).toBeGreaterThanOrEqual(5);
  });

  test("two processes at once index each document once", async () => {
    const work = await Promise.all(Array.from({ length: 6 }, uploaded));
    const other = await startJobProcess(jobs);
    other.go();
    await runHere(jobs, () => Promise.all(work.map(finish)));
    await other.kill();
    for (const each of work) await isIndexedOnce(each);
  });
});
