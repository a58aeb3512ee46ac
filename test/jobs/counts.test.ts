import { expect, setDefaultTimeout, test } from "bun:test";
import { keepCounts } from "#jobs/counts";
import { certificate, importInto } from "../support/pki/certificates";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(60_000);

test("a server adds up what was changed, again and again until it stops", async () => {
  const organization = await newOrganization();
  const changes = async () => (await world.sql`select from certificate_changes where organization_id = ${organization.id}`).length;
  const stop = keepCounts(world.deps);
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
