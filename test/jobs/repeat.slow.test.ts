import { expect, setDefaultTimeout, test } from "bun:test";
import { connectDatabase } from "#db/connect";
import { repeatJobs } from "#jobs/start";
import { createLog } from "#log/log";
import { certificate, importInto } from "../support/pki/certificates";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

test("a server adds up what was changed, again and again until it stops", async () => {
  const organization = await newOrganization();
  const changes = async () => (await world.sql`select from certificate_changes where organization_id = ${organization.id}`).length;
  const stop = repeatJobs(world.deps);
  for (let round = 0; round < 2; round++) {
    await importInto(organization, certificate().pem);
    while ((await changes()) > 0) await Bun.sleep(20);
  }
  await stop();
  await importInto(organization, certificate().pem);
  expect(await changes()).toBe(1);
  const [counted] = await world.sql`select sum(count)::int as count from certificate_counts where organization_id = ${organization.id} and span = 'all'`;
  expect(counted?.count).toBe(2);
});

test("a job that fails is logged with its name, and stops nothing", async () => {
  const lines: string[] = [];
  const log = createLog("warn", { write: (line) => void lines.push(line) });
  const nowhere = connectDatabase("postgres://postgres@127.0.0.1:1/postgres", { max: 1 });
  const stop = repeatJobs({ ...world.deps, log, sql: nowhere.$client });
  const failed = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "job failed, tried again at its next turn");
  while (failed().filter(({ job }) => job === "apply-policies").length < 2) await Bun.sleep(20);
  await stop();
  expect(failed()).toContainEqual(
    expect.objectContaining({ level: 40, job: "maintain-partitions", everyMs: 86_400_000, err: expect.objectContaining({ code: "ECONNREFUSED" }) }),
  );
});
