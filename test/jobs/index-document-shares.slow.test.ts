import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { runHere } from "../support/server/crash";
import { newStaff, upload } from "../support/server/knowledge";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

const { sql } = world;
beforeAll(async () => {
  await prepareJobs(world.deps);
  await sql`delete from pgboss.job`;
});
afterAll(() => world.deps.queue.stop());

test("a document is indexed before the last of many that another organization sent first", async () => {
  const [staff, busy, other] = [await newStaff(), await newOrganization(), await newOrganization()];
  const long = Array.from({ length: 1_000 }, (_, index) => `# Chapter ${index}\n\n${"Keys rotate yearly. ".repeat(20)}`).join("\n\n");
  for (let count = 0; count < 4; count++) await upload(staff, busy.id, { text: long });
  const { id } = await upload(staff, other.id);
  const done: string[] = [];
  await runHere(["index-document"], async () => {
    while (done.length < 5) {
      const ready = await sql<{ id: string }[]>`select id from documents where organization_id in (${busy.id}, ${other.id}) and status = 'ready'`;
      done.push(...ready.map((each) => each.id).filter((each) => !done.includes(each)));
      await Bun.sleep(5);
    }
  });
  expect(done.indexOf(id)).toBeLessThan(2);
});
