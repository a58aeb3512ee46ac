import { describe, expect, test } from "bun:test";
import { writeMarker } from "#maintenance/stamping-markers";
import { call } from "../../../support/server/call";
import { newFleet, obey, report } from "../../../support/server/fleet";
import { startServer, world } from "../../../support/server/world";

const PATH = "/fleet/summary";
const nothingHeld = { assignments: 0, policies: 0, rollouts: 0, agents: 0, members: 0, apiTokens: 0 };
const none = { pending: 0, installed: 0, failed: 0, drifted: 0, removed: 0, refused: 0, kept: 0 };

describe("GET /organizations/{organizationId}/fleet/summary", () => {
  test.each([
    ["lateAfterMinutes=0", "query.lateAfterMinutes must be a whole number from 1 to 525600."],
    ["silentAfterMinutes=x", "query.silentAfterMinutes must be a whole number from 1 to 525600."],
    ["lateAfterMinutes=60&silentAfterMinutes=30", "query.silentAfterMinutes must be at least query.lateAfterMinutes."],
  ])("400 for %s", async (query, message) => {
    const { organization } = await newFleet();
    expect(await organization.member("GET", `${PATH}?${query}`)).toMatchObject({ status: 400, body: { message } });
  });

  test("200 for an organization with nothing", async () => {
    const { organization } = await newFleet();
    expect((await organization.member("GET", PATH)).body).toEqual({
      deployments: { total: 0, adrift: 0, removing: 0, byState: none, byStore: [] },
      agents: { total: 0, online: 0, late: 0, silent: 0 },
      held: nothingHeld,
      trustsUntil: null,
      silentAgents: [],
      oldestDrift: null,
    });
  });

  test("200 counts what is held by its kind, and says until when an upgrade takes what has no stamp", async () => {
    const { organization, agents } = await newFleet({}, {});
    const admin = await organization.join();
    const { stamps } = world.deps;
    await world.sql`update members set stamp = null where user_id = ${admin.id}`;
    await admin.call("PATCH", `/organizations/${organization.id}`, { headers: organization.headers("ORG_ADMIN"), body: { name: "Mine" } });
    await world.sql`update agents set stamp = null where id = ${agents[0]?.id ?? ""}`;
    await agents[0]?.call("GET", "/agent/assignments");
    expect((await organization.member("GET", PATH)).body).toMatchObject({ held: { ...nothingHeld, members: 1, agents: 1 }, trustsUntil: null });
    const until = new Date(Date.now() + 3_600_000);
    await writeMarker(world.sql, stamps, 2, { trustsUntil: until });
    stamps.trust([2]);
    try {
      expect((await organization.member("GET", PATH)).body.trustsUntil).toBe(until.toISOString());
    } finally {
      stamps.trust([]);
      await writeMarker(world.sql, stamps, 2, { trustsUntil: null });
    }
  });

  test("200 counts by state and store, agents by when they were seen, names the silent ones and the oldest drift", async () => {
    const { organization, agents, importRoots, assign } = await newFleet({}, {}, {}, {});
    const [root = ""] = await importRoots("Example Root");
    const [a, b, c, d] = agents;
    await assign(a, root);
    await assign(a, root, { trustStoreType: "openssl_ca_dir" });
    const failed = await assign(b, root);
    await assign(c, root);
    await report("installed", a);
    await report("failed", b);
    const seen = (agent: { id: string }, minutes: number) =>
      world.sql`update agents set last_seen_at = now() - make_interval(mins => ${minutes}) where organization_id = ${organization.id} and id = ${agent.id}`;
    await seen(a, 1);
    await seen(b, 20);
    await seen(c, 3_000);
    const { body } = await organization.member("GET", PATH);
    expect(body).toEqual({
      deployments: {
        total: 4,
        adrift: 2,
        removing: 0,
        byState: { ...none, pending: 1, installed: 2, failed: 1 },
        byStore: [
          { trustStoreType: "linux_update_ca_certificates", total: 3, byState: { pending: 1, installed: 1, failed: 1 } },
          { trustStoreType: "openssl_ca_dir", total: 1, byState: { installed: 1 } },
        ],
      },
      agents: { total: 4, online: 1, late: 1, silent: 2 },
      held: nothingHeld,
      trustsUntil: null,
      silentAgents: [
        { agentId: d.id, agentName: "host-3", lastSeenAt: null },
        { agentId: c.id, agentName: "host-2", lastSeenAt: expect.any(String) },
      ],
      oldestDrift: { assignmentId: failed.id, agentId: b.id, since: failed.updatedAt },
    });
    const strict = (await organization.member("GET", `${PATH}?lateAfterMinutes=5000&silentAfterMinutes=6000`)).body;
    expect(strict.agents).toEqual({ total: 4, online: 3, late: 0, silent: 1 });
  });

  test("200 counts a deleted assignment as removing until its agent says that it is gone, in the state that was last reported", async () => {
    const { organization, agents, importRoots, assign } = await newFleet({});
    const [root = ""] = await importRoots("Example Root");
    const [agent] = agents;
    await assign(agent, root);
    const { id } = await assign(agent, root, { trustStoreType: "openssl_ca_dir" });
    await report("installed", agent);
    const counted = async () => {
      const { total, removing, byState } = (await organization.member("GET", PATH)).body.deployments;
      return { total, removing, byState };
    };
    expect((await organization.admin("DELETE", `${agent.assignments}/${id}`)).status).toBe(202);
    expect(await counted()).toEqual({ total: 2, removing: 1, byState: { ...none, installed: 2 } });
    await obey("failed", agent);
    expect(await counted()).toEqual({ total: 2, removing: 1, byState: { ...none, installed: 1, failed: 1 } });
    await obey("removed", agent);
    expect(await counted()).toEqual({ total: 1, removing: 0, byState: { ...none, installed: 1 } });
  });
});

describe("GET /metrics", () => {
  test("200 counts deployments by state and agents by health, a state that nothing is in as 0", async () => {
    const { organization, agents, importRoots, assign } = await newFleet({}, {});
    const [root = ""] = await importRoots("Example Root");
    for (const agent of agents) await assign(agent, root);
    await report("failed", agents[0]);
    const { id } = await assign(agents[0], root, { trustStoreType: "openssl_ca_dir" });
    await organization.admin("DELETE", `${agents[0].assignments}/${id}`);
    const { server, url } = startServer(world.config, world.database); // one that has not counted yet
    const { text } = await call("GET", "/metrics", { url });
    await server.stop(true);
    const figures = new Map(text.split("\n").map((line) => line.split(" ") as [string, string]));
    const [counted] = await world.sql`
      select (select count(*)::int from assignments where reported_state = 'failed') as failed, (select count(*)::int from assignments where reported_state is null) as pending,
        (select count(*)::int from assignments where removing_since is not null) as removing,
        (select count(*)::int from agents where last_seen_at is null or last_seen_at < now() - interval '1 day') as silent, (select count(*)::int from agents) as agents`;
    expect(Number(figures.get('certitude_deployments{state="failed"}'))).toBe(counted?.failed);
    expect(Number(figures.get('certitude_deployments{state="pending"}'))).toBe(counted?.pending);
    expect(figures.has('certitude_deployments{state="refused"}')).toBe(true);
    expect(Number(figures.get('certitude_deployments{state="removing"}'))).toBe(counted?.removing);
    expect(counted?.removing).toBeGreaterThan(0);
    expect(Number(figures.get('certitude_agents{health="silent"}'))).toBe(counted?.silent);
    const all = ["online", "late", "silent"].map((health) => Number(figures.get(`certitude_agents{health="${health}"}`)));
    expect(all.reduce((sum, each) => sum + each)).toBe(counted?.agents);
  });
});
