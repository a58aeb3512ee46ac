import { describe, expect, test } from "bun:test";
import type { Sql } from "#db/connect";
import { world } from "../../../support/server/world";
import { batch, countOf, newSender, sample } from "./senders";

/** The embedded database is one session, where no request waits for another. */
const IS_ONE_SESSION = Bun.env.TEST_DATABASE_URL === undefined;

const countWaiting = async () =>
  (await world.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into metric_samples%'`)
    .length;

type Write = (sql: Sql, organizationId: string) => Promise<unknown>;

const remember: Write = (sql, organizationId) =>
  sql`insert into webhook_deliveries (organization_id, webhook_id, accepted) values (${organizationId}, 'again', 1)`;
const addNext: Write = (sql, organizationId) => sql`
  insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value, unit)
  select organization_id, system_id, metric, recorded_at + interval '1 minute', labels, labels_hash, value, unit from metric_samples where organization_id = ${organizationId}`;
const touch: Write = (sql, organizationId) =>
  sql`update ai_systems set last_sample_at = last_sample_at + interval '1 minute' where organization_id = ${organizationId}`;

describe("POST …/ingest/metrics, the same delivery on two servers at once", () => {
  test.each([
    ["its AI system's latest time", addNext, touch],
    ["its samples", remember, addNext],
  ])("202 beside another server, which knows that the sender repeats, and locks %s last", async (_, first, last) => {
    const { organization, signed } = await newSender();
    await signed(batch());
    const again = () => signed(batch(sample({ recordedAt: "2026-01-02T09:31:00.000Z" })), { id: "again" });
    const answer = await world.sql.begin(async (tx) => {
      await first(tx, organization.id);
      const sent = IS_ONE_SESSION ? undefined : again();
      while (sent && (await countWaiting()) === 0) await Bun.sleep(20);
      await last(tx, organization.id);
      return { sent };
    });
    expect(await (answer.sent ?? again())).toMatchObject({ status: 202, body: { accepted: 0, duplicates: 1 } });
    expect(await countOf(organization)).toBe(2);
  });
});
