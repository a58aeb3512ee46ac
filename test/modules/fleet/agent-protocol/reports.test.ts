import { describe, expect, test } from "bun:test";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { newReporter } from "./reporters";

const PATH = "/agent/reports";
const HASH = "AB".repeat(32);
const ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

describe("POST /agent/reports", () => {
  test("401 without an agent's token, before the body is looked at", async () => {
    expect(await call("POST", PATH, { body: { nonsense: true } })).toMatchObject({ status: 401, body: "" });
  });

  test.each([
    [{}, "body.reports is required."],
    [{ reports: {} }, "body.reports must be a list of 0 to 1000 items."],
    [{ reports: Array.from({ length: 1_001 }, () => ({ assignmentId: ID, state: "installed" })) }, "body.reports must be a list of 0 to 1000 items."],
    [{ reports: [{ state: "installed" }] }, "body.reports.0.assignmentId is required."],
    [{ reports: [{ assignmentId: "x", state: "installed" }] }, "body.reports.0.assignmentId must be a UUID."],
    [{ reports: [{ assignmentId: ID }] }, "body.reports.0.state is required."],
    [{ reports: [{ assignmentId: ID, state: "gone" }] }, "body.reports.0.state must be one of installed, failed, drifted, removed, refused, kept."],
    [{ reports: [{ assignmentId: ID, state: "installed", observedFingerprint: "abc" }] }, "body.reports.0.observedFingerprint must be the SHA-256 fingerprint"],
    [{ reports: [{ assignmentId: ID, state: "installed", observedFingerprint: `${HASH}0` }] }, "body.reports.0.observedFingerprint must be"],
    [{ reports: [{ assignmentId: ID, state: "failed", message: "" }] }, "body.reports.0.message must be text of 1 to 1000 characters, without NUL."],
    [{ reports: [{ assignmentId: ID, state: "failed", message: "x".repeat(1_001) }] }, "body.reports.0.message must be text of 1 to 1000"],
    [{ reports: [{ assignmentId: ID, state: "failed", message: "a\0b" }] }, "body.reports.0.message must be text of 1 to 1000"],
    [{ reports: [{ assignmentId: ID, state: "failed", version: 1 }] }, "body.reports.0.version is not a known field."],
    [{ reports: [], host: { password: "x" } }, "body.host.password is not a known field."],
    [{ reports: [], host: { hostname: 5 } }, "body.host.hostname must be text of 1 to 255 characters, without NUL."],
    [{ reports: [], at: "now" }, "body.at is not a known field."],
  ])("400 for %j", async (body, message) => {
    const { call } = await newAgent(await newOrganization());
    const answer = await call("POST", PATH, { body });
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test.each(["yesterday", "2026-01-02", "2026-02-30T00:00:00Z", "10000-01-01T00:00:00Z", "", 1_767_346_260_000, null])(
    "400 where it was observed at %p",
    async (observedAt) => {
      const { say } = await newReporter();
      const message = "body.reports.0.observedAt must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z.";
      expect(await say("installed", { observedAt })).toMatchObject({ status: 400, body: { message } });
    },
  );

  test("400 for an assignment that is reported twice at once", async () => {
    const { ids, report } = await newReporter();
    const reports = [ids[0], ids[1], ids[0]?.toUpperCase()].map((assignmentId) => ({ assignmentId, state: "installed" }));
    expect(await report({ reports })).toMatchObject({ status: 400, body: { message: "body.reports.2.assignmentId is in an earlier report of this request." } });
  });

  test("404 for an assignment that is unknown, another agent's or another organization's: nothing is kept", async () => {
    const { organization, agent, ids, report, deployments, events } = await newReporter();
    const sibling = await newAgent(organization);
    const { body } = await organization.admin("POST", sibling.assignments, { body: anAssignment(await importRoot(organization)) });
    const other = await newReporter();
    for (const foreign of [crypto.randomUUID(), body.id, other.ids[0]]) {
      const reports = [ids[0], foreign, ids[1]].map((assignmentId) => ({ assignmentId, state: "installed" }));
      const message = "body.reports.1.assignmentId is no assignment of this agent. No report was kept.";
      expect(await report({ reports, host: { hostname: "evil" } })).toMatchObject({ status: 404, body: { message } });
    }
    expect((await deployments()).every((each: { state: unknown }) => each.state === null)).toBe(true);
    expect((await organization.member("GET", agent.path)).body.host).toBeNull();
    expect(await events()).toEqual([]);
  });

  test("204 keeps what was reported, where the certificate's deployments show it", async () => {
    const { organization, agent, ids, report, deployments, events } = await newReporter();
    const reports = [
      { assignmentId: ids[0], state: "installed", observedFingerprint: HASH },
      { assignmentId: ids[1], state: "failed", message: " keytool said no " },
    ];
    const host = { hostname: "web-01", operatingSystem: "Debian GNU/Linux 13", platform: "linux", architecture: "x64", agentVersion: "0.1.0" };
    expect(await report({ reports, host })).toMatchObject({ status: 204, body: "" });
    const reportedAt = expect.any(String);
    expect(await deployments()).toMatchObject([
      { assignmentId: ids[0], state: "installed", observedFingerprint: HASH.toLowerCase(), message: null, reportedAt },
      { assignmentId: ids[1], state: "failed", observedFingerprint: null, message: "keytool said no", reportedAt },
      { assignmentId: ids[2], state: null, reportedAt: null },
    ]);
    expect((await organization.member("GET", agent.path)).body).toMatchObject({ host, lastSeenAt: expect.any(String), version: 1 });
    expect((await organization.member("GET", `${agent.assignments}/${ids[0]}`)).body.version).toBe(1);
    const actor = { type: "agent", id: agent.id };
    expect((await events()).toSorted((a: { targetId: string }, b: { targetId: string }) => (a.targetId < b.targetId ? -1 : 1))).toMatchObject([
      { targetId: ids[0], actor, details: { state: "installed", observedFingerprint: HASH.toLowerCase() } },
      { targetId: ids[1], actor, details: { state: "failed", message: "keytool said no" } },
    ]);
  });

  test("204 again for the same report, which is no news; a host that is not sent stays", async () => {
    const { organization, agent, ids, report, deployments, events } = await newReporter();
    const reports = [{ assignmentId: ids[0], state: "installed" }];
    await report({ reports, host: { hostname: "web-01" } });
    const [first] = await deployments();
    expect((await report({ reports })).status).toBe(204);
    const [again] = await deployments();
    expect({ ...again, reportedAt: first.reportedAt }).toEqual(first);
    expect(await events()).toHaveLength(1);
    expect((await report({ reports: [] })).status).toBe(204);
    expect((await organization.member("GET", agent.path)).body.host).toEqual({ hostname: "web-01" });
    await report({ reports: [{ assignmentId: ids[0], state: "drifted" }] });
    expect((await deployments())[0]).toMatchObject({ state: "drifted" });
    expect(await events()).toHaveLength(2);
  });

  test("204 keeps when the agent saw it so, whatever its clock says, beside the time of receipt", async () => {
    const { say, read, list, deployments, organization } = await newReporter();
    const received = [
      ["2026-01-02T09:30:58.412Z"],
      ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
      ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"],
      ["2020-06-01T01:30:00+02:00", "2020-05-31T23:30:00.000Z"],
      [undefined, null],
    ];
    const began = Date.now();
    for (const [index, [observedAt, kept = observedAt]] of received.entries()) {
      expect((await say("failed", { message: `attempt ${index}`, observedAt })).status).toBe(204);
      const { report } = await read();
      expect(report).toMatchObject({ observedAt: kept, message: `attempt ${index}` });
      expect(Math.abs(Date.parse(report.reportedAt) - began)).toBeLessThan(600_000);
      expect((await deployments())[0]).toMatchObject({ observedAt: kept, reportedAt: report.reportedAt });
      const { items } = (await organization.member("GET", "/deployments?state=failed")).body;
      expect(items).toMatchObject([{ observedAt: kept, reportedAt: report.reportedAt }]);
    }
    const { items } = (await list()).body;
    expect(items.map(({ message }: { message: string }) => message)).toEqual([4, 3, 2, 1, 0].map((index) => `attempt ${index}`)); // in order of receipt
    expect(items.map(({ observedAt }: { observedAt: unknown }) => observedAt)).toEqual(received.map(([observedAt, kept = observedAt]) => kept).toReversed());
  });

  test("204 and no news where a report differs from the last one in its time alone", async () => {
    const { say, read, list, events } = await newReporter();
    const [first, second] = ["2026-01-02T09:30:00.000Z", "2026-01-02T09:31:00.000Z"];
    for (const observedAt of [first, second, undefined, second]) await say("installed", { observedAt });
    const { report, history } = await read();
    expect([report.observedAt, history.length, history[0].observedAt]).toEqual([second, 1, first]);
    expect([(await list()).body.items.length, (await events()).length]).toEqual([1, 1]);
  });

  test("204 for twenty at once in any order, and one event for each assignment", async () => {
    const { ids, report, deployments, events } = await newReporter();
    const send = (index: number) => {
      const order = index % 2 === 0 ? ids : ids.toReversed();
      return report({ reports: order.map((assignmentId) => ({ assignmentId, state: "installed" })) });
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => send(index)));
    expect(answers.map((each) => each.status)).toEqual(Array.from({ length: 20 }, () => 204));
    expect((await deployments()).map((each: { state: string }) => each.state)).toEqual(["installed", "installed", "installed"]);
    expect(await events()).toHaveLength(3);
  });
});
