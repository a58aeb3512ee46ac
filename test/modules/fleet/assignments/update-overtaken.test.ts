import { describe, expect, test } from "bun:test";
import type { Pool } from "#db/connect";
import { updateAssignment } from "#modules/fleet/assignments/queries/update";
import type { AssignmentPatch } from "#modules/fleet/assignments/schema/assignments";
import { importRoot, withAssignment } from "../../../support/server/agents";
import { world } from "../../../support/server/world";

/** The pool of the server, in which `meanwhile` is done once: after a change was judged, and before it is written. */
function poolWhere(meanwhile: () => Promise<unknown>) {
  let isDone = false;
  return new Proxy(world.sql, {
    apply(tag, _, given: Parameters<Pool>) {
      const statement = () => tag(...given);
      if (isDone || !given[0].join("").includes("changed as (")) return statement();
      isDone = true;
      return meanwhile().then(statement);
    },
  });
}

type World = Awaited<ReturnType<typeof withAssignment>>;

/** Sends the change, and does `meanwhile` before it is written. */
const change = (
  { organization, agent, created }: World,
  patch: AssignmentPatch,
  meanwhile: () => Promise<unknown>,
  rest: { versions?: number[]; named?: number[] } = {},
) =>
  updateAssignment(
    poolWhere(meanwhile),
    world.deps.stamps,
    organization.scope,
    { agentId: agent.id, id: created.id, versions: rest.versions, named: rest.named ?? [] },
    patch,
  );

describe("PATCH /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}, overtaken between its judgement and its write", () => {
  test("200 keeps what another request changed meanwhile, with an audit event of each", async () => {
    const given = await withAssignment();
    expect(await change(given, { config: { alias: "mine" } }, () => given.update({ enabled: false, config: { certFileName: "theirs" } }))).toMatchObject({
      version: 3,
    });
    expect(await given.read()).toMatchObject({ version: 3, enabled: false, config: { alias: "mine", certFileName: "theirs" } });
    const [last, first] = await given.events("assignment.updated");
    expect(first.details.changes).toEqual({ enabled: { from: true, to: false }, "config.certFileName": { from: null, to: "theirs" } });
    expect(last.details.changes).toEqual({ "config.alias": { from: "root", to: "mine" } });
  });

  test("200 without another version where the other request changed the same", async () => {
    const given = await withAssignment();
    expect(await change(given, { enabled: false }, () => given.update({ enabled: false }))).toMatchObject({ version: 2 });
    expect(await given.events("assignment.updated")).toHaveLength(1);
  });

  test("200 orders what it wrote: its agent gets it, and it is not held", async () => {
    const given = await withAssignment();
    await change(given, { config: { alias: "mine" } }, () => given.update({ config: { certFileName: "theirs" } }));
    const { body } = await given.agent.call("GET", "/agent/assignments");
    expect(body.items).toMatchObject([{ id: given.created.id, config: { alias: "mine", certFileName: "theirs" } }]);
    expect((await given.organization.member("GET", given.path)).body.heldSince).toBeNull();
  });

  test.each([
    ["412 for the version of If-Match", { versions: [1] }, "stale"],
    ["409 for the version of the body", { named: [1] }, "conflict"],
  ])("%s", async (_, rest, outcome) => {
    const given = await withAssignment();
    expect(await change(given, { enabled: false }, () => given.update({ applicationId: "mail" }), rest)).toBe(outcome as never);
    expect(await given.read()).toMatchObject({ version: 2, enabled: true, applicationId: "mail" });
  });

  test("400 for another certificate that was revoked, and nothing changes", async () => {
    const given = await withAssignment();
    const certificateId = await importRoot(given.organization, "Revoked Root");
    const revoke = () => given.organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    expect(await change(given, { certificateId }, revoke)).toEqual({
      invalid: "body.certificateId must name a certificate that is neither revoked nor retired.",
    });
    expect(await given.read()).toEqual(given.created);
    expect(await given.events("assignment.updated")).toEqual([]);
  });

  test("200 for an assignment whose own certificate was revoked", async () => {
    const given = await withAssignment();
    const revoke = () => given.organization.admin("POST", `/certificates/${given.certificateId}/revoke`, { body: {} });
    expect(await change(given, { enabled: false }, revoke)).toMatchObject({ version: 2 });
  });

  test("404 where its agent was deleted", async () => {
    const given = await withAssignment();
    expect(await change(given, { config: { alias: "mine" } }, () => given.organization.admin("DELETE", given.agent.path))).toBe("not found");
  });

  test("409 where it was deleted, and is removing until its agent says that it is gone", async () => {
    const given = await withAssignment();
    await given.agent.call("GET", "/agent/assignments");
    expect(await change(given, { enabled: false }, () => given.organization.admin("DELETE", given.path))).toBe("conflict");
  });

  test("409 where another assignment took its new place", async () => {
    const given = await withAssignment();
    expect(await change(given, { config: { alias: "throne" } }, () => given.create({ config: { alias: "throne" } }))).toBe("conflict");
    expect(await given.read()).toEqual(given.created);
  });
});

describe("PATCH /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test("200 for all of 64 at once on one assignment, some of its applicationId alone, and each has a version and an audit event", async () => {
    const { update, read, events } = await withAssignment();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => update(index % 2 ? { applicationId: `caller-${index}` } : { config: { alias: `alias-${index}` } })),
    );
    expect(answers.map((each) => each.status)).toEqual(answers.map(() => 200));
    expect(answers.map((each) => each.body.version).toSorted((one, other) => one - other)).toEqual(answers.map((_, index) => index + 2));
    expect(await read()).toEqual(answers.find((each) => each.body.version === 65)?.body);
    expect(await events("assignment.updated")).toHaveLength(64);
  });
});
