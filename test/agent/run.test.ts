import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { thisHost } from "#agent/host/host";
import { runAgent } from "#agent/run";
import { createLog } from "#log/log";
import { type ConnectedAgent, newConnectedAgent } from "../support/agent/connected-agent";
import { until } from "../support/agent/observing";
import { connectTo } from "../support/server/postgres";
import { startProxy, targetOf } from "../support/server/proxy";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

/** Runs the agent for good, with so many milliseconds between two passes, until it is told to stop. */
function start(
  { server, token, pathOf, policySource }: ConnectedAgent,
  more: { server?: string; interval?: number; isOnce?: boolean; stateDirectory?: string; metricsFile?: string } = {},
) {
  const stopping = new AbortController();
  const said: { msg: string; reason?: string }[] = [];
  const log = createLog("info", { write: (text) => void said.push(JSON.parse(text)) });
  const options = {
    server,
    connection: () => ({ token, tls: {}, hasOwnAuthority: false }),
    stateDirectory: pathOf("loop"),
    policy: policySource,
    interval: 100,
    isOnce: false,
    isDryRun: false,
    ...more,
  };
  let hurry = () => {};
  const onHangup = (ring: () => void) => {
    hurry = ring;
  };
  const ended = runAgent(options, { host: thisHost({ PATH: Bun.env.PATH }), log, version: "1.2.3", signal: stopping.signal, onHangup });
  const count = (message: string) => said.filter(({ msg }) => msg === message).length;
  async function stop() {
    stopping.abort();
    return ended;
  }
  return { said, count, stop, ended, hurry: () => hurry() };
}

/** The value of each metric in the file, by its name with its labels. */
const readMetrics = (path: string) =>
  Object.fromEntries(
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );

describe("an agent that goes on", () => {
  test("writes its metrics after each pass, for other users to read; where they cannot be written it goes on", async () => {
    const agent = await newConnectedAgent();
    await agent.assign((await agent.newRoot()).id, "root");
    const gate = await startProxy(targetOf(agent.server.replace("http", "postgres")));
    const metricsFile = agent.pathOf("certitude.prom");
    const started = Math.floor(Date.now() / 1_000);
    const loop = start(agent, { server: `http://127.0.0.1:${gate.port}`, metricsFile });
    await until(async () => expect(readMetrics(metricsFile)['certitude_agent_assignments{state="installed"}']).toBe(1));
    const first = readMetrics(metricsFile);
    expect(first).toMatchObject({ 'certitude_agent_assignments{state="failed"}': 0, certitude_agent_last_pass_failed: 0 });
    expect(first.certitude_agent_last_contact_timestamp_seconds).toBeGreaterThanOrEqual(started);
    expect(statSync(metricsFile).mode & 0o777).toBe(0o644);
    await gate.refuse();
    await until(async () => {
      const { certitude_agent_last_pass_timestamp_seconds: pass = 0, certitude_agent_last_contact_timestamp_seconds: contact = 0 } = readMetrics(metricsFile);
      expect(pass).toBeGreaterThan(contact);
    });
    await loop.stop();
    gate.stop();
    const lost = start(agent, { metricsFile: agent.pathOf("missing/certitude.prom"), stateDirectory: agent.pathOf("second") });
    await until(async () => expect(lost.count("the metrics file cannot be written")).toBeGreaterThan(1));
    await lost.stop();
    await agent.end();
  });

  test("reports its host once, heals at every pass, and ends as soon as it is asked to, in the middle of a pause too", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    await agent.assign(root.id, "root");
    const loop = start(agent);
    await until(async () => expect(loop.count("installed")).toBe(1));
    for (const times of [1, 2]) {
      expect(agent.store()).toEqual({ "root.pem": root.pem });
      rmSync(agent.pathOf("store/root.pem"));
      await until(async () => expect(loop.count("healed")).toBe(times));
    }
    expect((await agent.organization.member("GET", agent.path)).body.host).toMatchObject({ agentVersion: "1.2.3", platform: "linux" });
    expect(await loop.stop()).toEqual({ failed: 0 });
    rmSync(agent.pathOf("store/root.pem"));
    const resting = start(agent, { interval: 3_600_000 });
    await until(async () => expect(resting.count("healed")).toBe(1));
    await resting.stop(); // an hour would be longer than this test may take
    await agent.end();
  });

  test("makes a pass at once when it is asked to, and asks a server again that it would have left alone; its return is logged", async () => {
    const agent = await newConnectedAgent();
    await agent.assign((await agent.newRoot()).id, "root");
    const gate = await startProxy(targetOf(agent.server.replace("http", "postgres")));
    const server = `http://127.0.0.1:${gate.port}`;
    const loop = start(agent, { server, interval: 3_600_000 });
    await until(async () => expect(loop.count("installed")).toBe(1));
    await gate.refuse();
    loop.hurry();
    await until(async () => expect(loop.count("the server cannot be reached")).toBe(1));
    await gate.accept();
    rmSync(agent.pathOf("store/root.pem"));
    loop.hurry();
    await until(async () => expect(loop.count("the server is back")).toBe(1));
    expect(loop.count("healed")).toBe(1);
    await loop.stop();
    await gate.stop();
    await agent.end();
  });

  test("tries again at once what failed, when it is asked to, however long that was to wait", async () => {
    const agent = await newConnectedAgent();
    writeFileSync(agent.pathOf("store/taken.pem"), "theirs");
    await agent.assign((await agent.newRoot()).id, "taken");
    const loop = start(agent, { interval: 3_600_000 });
    await until(async () => expect(loop.count("failed")).toBe(1));
    rmSync(agent.pathOf("store/taken.pem"));
    loop.hurry();
    await until(async () => expect(loop.count("installed")).toBe(1));
    await loop.stop();
    await agent.end();
  });

  test("leaves a server alone for as long as it asks, and heals all the while", async () => {
    const agent = await newConnectedAgent();
    await agent.assign((await agent.newRoot()).id, "root");
    const once = await start(agent, { isOnce: true }).ended;
    expect(once).toEqual({ failed: 0 });
    const asked: number[] = [];
    const log = createLog("info", { write: (line) => JSON.parse(line).route === "/agent/assignments" && void asked.push(performance.now()) });
    const away = startServer(world.config, { db: connectTo("postgres://postgres@127.0.0.1:1/postgres") }, undefined, log);
    const loop = start(agent, { server: away.url });
    for (const times of [1, 2, 3, 4]) {
      rmSync(agent.pathOf("store/root.pem"));
      await until(async () => expect(loop.count("healed")).toBe(times));
    }
    await until(async () => expect(asked.length).toBeGreaterThan(2));
    await loop.stop();
    const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThan(950); // Retry-After: 1, less what the log may lag
    expect(loop.count("the server cannot be reached")).toBe(asked.length);
    await away.server.stop(true);
    await away.sql.end({ timeout: 0 });
    await agent.end();
  });
});

describe("an agent whose own disk is full", () => {
  const mounted = new Set<string>();
  afterAll(async () => {
    for (const each of mounted) await Bun.$`umount ${each}`.quiet();
  });

  test("goes on, changes nothing, and does its work once there is room", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const id = await agent.assign(root.id, "root");
    const stateDirectory = agent.pathOf("small");
    mkdirSync(stateDirectory);
    await Bun.$`mount -t tmpfs -o size=64k,mode=700 none ${stateDirectory}`.quiet();
    mounted.add(stateDirectory);
    const filling = join(stateDirectory, "filling");
    mkdirSync(join(stateDirectory, "assignments"));
    await Bun.$`dd if=/dev/zero of=${filling} bs=1k count=60`.quiet().nothrow();
    const loop = start(agent, { stateDirectory });
    await until(async () => expect(loop.count("the pass failed")).toBeGreaterThan(1));
    expect(loop.said.find(({ msg }) => msg === "the pass failed")?.reason).toContain("there is no space left on its disk");
    expect(agent.store()).toEqual({});
    writeFileSync(filling, "");
    await until(async () => expect(await agent.historyOf(id)).toEqual(["installed"]));
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    await loop.stop();
    await Bun.$`umount ${stateDirectory}`.quiet();
    mounted.delete(stateDirectory);
    await agent.end();
  });
});
