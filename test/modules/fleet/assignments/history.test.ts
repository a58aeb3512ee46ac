import { describe, expect, test } from "bun:test";
import { newAgent } from "../../../support/server/agents";
import { startServer, world } from "../../../support/server/world";
import { newReporter } from "../agent-protocol/reporters";

const HASH = "ab".repeat(32);
const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 12, minute));
const statesOf = (reports: { state: string }[]) => reports.map((each) => each.state);

describe("GET /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}/reports", () => {
  test.each(["?limit=0", "?limit=101", "?cursor=x", `?cursor=${Buffer.from('["x"]').toString("base64url")}`])("400 for %s", async (query) => {
    const { list } = await newReporter();
    expect((await list(query)).status).toBe(400);
  });

  test("404 for what is not here, or another agent's or organization's", async () => {
    const [mine, other] = [await newReporter(), await newReporter()];
    const sibling = await newAgent(mine.organization);
    for (const path of [other.path, `${sibling.assignments}/${mine.ids[0]}`, `${mine.agent.assignments}/nonsense`, `${mine.agent.assignments}/${sibling.id}`])
      expect((await mine.organization.member("GET", `${path}/reports`)).status).toBe(404);
  });

  test("200 and nothing before the first report", async () => {
    const { list, read, deployments } = await newReporter();
    expect((await list()).body).toEqual({ items: [], nextCursor: null });
    expect(await read()).toMatchObject({ report: null, history: [] });
    expect((await deployments())[0].history).toEqual([]);
  });

  test("200 the newest first, page by page; the assignment shows twenty of them, a certificate's deployment five", async () => {
    const { say, list, read, deployments } = await newReporter();
    for (let count = 1; count <= 23; count++) expect((await say("failed", { message: `attempt ${count}` })).status).toBe(204);
    const all = (await list("?limit=100")).body;
    expect(all.items.map((each: { message: string }) => each.message)).toEqual(Array.from({ length: 23 }, (_, index) => `attempt ${23 - index}`));
    expect([all.nextCursor, all.items[0]]).toEqual([
      null,
      { state: "failed", observedFingerprint: null, message: "attempt 23", reportedAt: expect.stringMatching(/Z$/), observedAt: null },
    ]);
    const first = (await list("?limit=10")).body;
    const second = (await list(`?limit=10&cursor=${first.nextCursor}`)).body;
    await say("installed"); // moves nothing on the pages behind
    const third = (await list(`?limit=10&cursor=${second.nextCursor}`)).body;
    expect([...first.items, ...second.items, ...third.items]).toEqual(all.items);
    expect(third.nextCursor).toBeNull();
    expect((await read()).history).toEqual([expect.objectContaining({ state: "installed" }), ...all.items.slice(0, 19)]);
    expect((await deployments())[0].history).toEqual([expect.objectContaining({ state: "installed" }), ...all.items.slice(0, 4)]);
  });

  test("200 of this assignment alone", async () => {
    const { ids, agent, organization, report, deployments } = await newReporter();
    await report({ reports: ids.map((assignmentId, index) => ({ assignmentId, state: "failed", message: `of ${index}` })) });
    for (const [index, id] of ids.entries()) {
      const { items } = (await organization.member("GET", `${agent.assignments}/${id}/reports`)).body;
      expect(items.map((each: { message: string }) => each.message)).toEqual([`of ${index}`]);
    }
    expect((await deployments()).map((each: { history: object[] }) => each.history.length)).toEqual([1, 1, 1]);
  });
});

describe("POST /agent/reports", () => {
  test("204 goes down in history only where it says something new: state, fingerprint or message", async () => {
    const { say, list, events } = await newReporter();
    const news = [
      ["installed", {}],
      ["installed", { observedFingerprint: HASH }],
      ["installed", { observedFingerprint: HASH, message: "healed" }],
      ["drifted", { observedFingerprint: HASH, message: "healed" }],
      ["drifted", {}],
      ["installed", {}],
    ] as const;
    for (const [state, rest] of news) {
      await say(state, rest);
      await say(state, rest);
    }
    await say("installed", { observedFingerprint: undefined });
    const { items } = (await list()).body;
    expect(statesOf(items)).toEqual(["installed", "drifted", "drifted", "installed", "installed", "installed"]);
    expect(await events()).toHaveLength(items.length);
  });

  test("204 keeps when it was news, and when it was last said", async () => {
    const { agent, ids, read } = await newReporter();
    let now = at(0);
    const clocked = startServer(world.config, world.database, () => now);
    const say = async (minute: number, state: string) => {
      now = at(minute);
      const body = { reports: [{ assignmentId: ids[0], state }] };
      expect((await agent.call("POST", "/agent/reports", { body, url: clocked.url })).status).toBe(204);
    };
    await say(0, "installed");
    await say(1, "installed");
    expect(await read()).toMatchObject({ report: { state: "installed", reportedAt: at(1).toISOString() }, history: [{ reportedAt: at(0).toISOString() }] });
    await say(2, "drifted");
    const { report, history, version } = await read();
    expect(report).toEqual({ state: "drifted", observedFingerprint: null, message: null, reportedAt: at(2).toISOString(), observedAt: null });
    expect([history[0], statesOf(history), version]).toEqual([report, ["drifted", "installed"], 1]);
    await clocked.server.stop(true);
  });

  test("404 leaves no history", async () => {
    const { ids, report, list } = await newReporter();
    const reports = [ids[0], crypto.randomUUID()].map((assignmentId) => ({ assignmentId, state: "installed" }));
    expect((await report({ reports })).status).toBe(404);
    expect((await list()).body.items).toEqual([]);
  });

  test("204 for thirty different ones at once: a history in which each differs from the one before, and the last is the assignment's", async () => {
    const { ids, report, organization, agent } = await newReporter();
    const states = ["installed", "failed", "drifted"];
    const send = (index: number) => {
      const order = index % 2 === 0 ? ids : ids.toReversed();
      return report({ reports: order.map((assignmentId) => ({ assignmentId, state: states[index % 3], message: `${index % 5}` })) });
    };
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => send(index)));
    expect(new Set(answers.map((each) => each.status))).toEqual(new Set([204]));
    for (const id of ids) {
      const path = `${agent.assignments}/${id}`;
      const said = ({ state, message }: { state: string; message: string }) => `${state} ${message}`;
      const { items } = (await organization.member("GET", `${path}/reports?limit=100`)).body;
      const words: string[] = items.map(said);
      expect(words.filter((each, index) => each === words[index + 1])).toEqual([]);
      expect(new Set(words).size).toBe(15);
      expect(said((await organization.member("GET", path)).body.report)).toBe(words[0] ?? "");
    }
  });

  test("204 or 404, and never a failure, while its assignments are deleted", async () => {
    const { ids, report, organization, agent } = await newReporter();
    const reports = ids.map((assignmentId) => ({ assignmentId, state: "installed" }));
    const deletions = ids.map((id) => organization.admin("DELETE", `${agent.assignments}/${id}?force=true&reason=scrapped`));
    const answers = await Promise.all([...Array.from({ length: 10 }, () => report({ reports })), ...deletions]);
    for (const { status } of answers) expect(status).toBeOneOf([204, 404]);
    expect(await world.sql`select from deployment_reports where organization_id = ${organization.id}`).toHaveLength(0);
  });
});

describe("DELETE /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  const count = async (assignmentId = "") => (await world.sql`select from deployment_reports where assignment_id = ${assignmentId}`).length;

  test("204 takes the history along, and that of no other; so does deleting the agent", async () => {
    const { ids, path, report, organization, agent } = await newReporter();
    await report({ reports: ids.map((assignmentId) => ({ assignmentId, state: "installed" })) });
    expect((await organization.admin("DELETE", `${path}?force=true&reason=scrapped`)).status).toBe(204);
    expect([await count(ids[0]), await count(ids[1])]).toEqual([0, 1]);
    expect((await organization.admin("DELETE", agent.path)).status).toBe(204);
    expect([await count(ids[1]), await count(ids[2])]).toEqual([0, 0]);
  });
});
