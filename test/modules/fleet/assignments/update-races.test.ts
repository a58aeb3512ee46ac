import { describe, expect, test } from "bun:test";
import type { Sql } from "#db/connect";
import { withAssignment } from "../../../support/server/agents";
import { statementsDuring } from "../../../support/server/statements";
import { world } from "../../../support/server/world";

describe("PATCH /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test.each([
    ["If-Match", { tag: '"1"', lost: 412 }],
    ["a version", { body: { version: 1 }, lost: 409 }],
    ["an etag", { body: { etag: '"1"' }, lost: 409 }],
  ])("200 for exactly one of fifty at once with %s", async (_, { tag, body, lost }: { tag?: string; body?: object; lost: number }) => {
    const { update, read, events } = await withAssignment();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => update({ applicationId: `racer-${index}`, ...body }, tag)));
    const statuses = answers.map((each) => each.status).toSorted();
    expect(statuses).toEqual([200, ...Array.from({ length: 49 }, () => lost)]);
    const winner = answers.find((each) => each.status === 200)?.body;
    expect(await read()).toEqual(winner);
    expect(winner.version).toBe(2);
    expect(await events("assignment.updated")).toHaveLength(1);
  });

  test("200 for all of twenty at once without a precondition, and no change is lost", async () => {
    const { update, read, created } = await withAssignment();
    const fields = ["trustStorePath", "alias", "verifyServerName", "certFileName"];
    const fieldValue = (index: number) => (index % 4 === 0 ? `/value-${index}` : `value-${index}`);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => update({ config: { [fields[index % 4] ?? ""]: fieldValue(index) } })));
    expect(answers.map((each) => each.status)).toEqual(Array.from({ length: 20 }, () => 200));
    const versions = answers.map((each) => each.body.version).toSorted((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
    const { config, version } = await read();
    expect(version).toBe(21);
    expect(Object.keys(config).toSorted()).toEqual(fields.toSorted());
    for (const field of fields) expect(config[field]).not.toBe(created.config[field]);
  });

  test("200 for one of twenty that race for the same place, 409 for the others", async () => {
    const { organization, agent, create } = await withAssignment();
    const rivals = await Promise.all(Array.from({ length: 20 }, (_, index) => create({ config: { alias: `rival-${index}` } })));
    const answers = await Promise.all(
      rivals.map(({ id }) => organization.admin("PATCH", `${agent.assignments}/${id}`, { body: { config: { alias: "throne" } } })),
    );
    const statuses = answers.map((each) => each.status).toSorted();
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
  });

  test.each([
    ["one statement where it orders nothing", { applicationId: "mail" }, 1],
    ["two where it needs a stamp", { applicationId: "mail", config: { alias: "other" } }, 2],
  ])("200 with %s", async (_, patch, count) => {
    const { update } = await withAssignment();
    const statements = await statementsDuring(async () => expect((await update(patch)).status).toBe(200));
    expect(statements).toHaveLength(count);
  });

  test("200 at once for what cannot move it, while its agent is locked, as it is while policies are applied", async () => {
    const { organization, agent, update } = await withAssignment();
    const canHold = Bun.env.TEST_DATABASE_URL !== undefined; // the embedded database is one session, which waits for the lock's own transaction
    const change = async () => expect((await update({ applicationId: "mail", enabled: false, autoRenew: false, includePrivateKey: false })).status).toBe(200);
    async function changeWhileHeld(tx: Sql) {
      await tx`select from agents where organization_id = ${organization.id} and id = ${agent.id} for update`;
      await change();
    }
    await (canHold ? world.sql.begin(changeWhileHeld) : change());
  });
});
