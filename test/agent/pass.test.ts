import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { newConnectedAgent } from "../support/agent/connected-agent";

setDefaultTimeout(300_000);

const MINUTE = 60_000;
const FAILURE = "failed: sh ended with exit code 1: it said nothing. Rolled back: the store is as it was.";
const DRIFT = "drifted: Found and healed: root.pem is missing";

describe("a pass without the server", () => {
  test("goes by what was desired last; the reports wait, and are delivered in their order", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const id = await agent.assign(root.id, "root");
    expect(await agent.pass()).toEqual({ failed: 0 });
    await agent.line.refuse();
    for (let times = 0; times < 2; times++) {
      rmSync(agent.pathOf("store/root.pem"));
      expect(await agent.pass()).toMatchObject({ failed: 0, unreachable: { message: expect.stringContaining(`${agent.server} cannot be reached`) } });
      expect(agent.store()).toEqual({ "root.pem": root.pem });
      await agent.restart(); // they are on disk
    }
    expect(await agent.historyOf(id)).toEqual(["installed"]);
    await agent.line.accept();
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(await agent.historyOf(id)).toEqual(["installed", DRIFT, "installed"]);
    await agent.end();
  });

  test("keeps when each report was so, by the clock of the host, until the server has it", async () => {
    const agent = await newConnectedAgent();
    const id = await agent.assign((await agent.newRoot()).id, "root");
    await agent.pass();
    await agent.line.refuse();
    for (const years of [1, -7]) {
      agent.wait(years * 365 * 24 * 60 * MINUTE); // the second time the host's clock is put back
      rmSync(agent.pathOf("store/root.pem"));
      await agent.pass();
      await agent.pass();
    }
    await agent.restart();
    await agent.line.accept();
    agent.wait(MINUTE);
    await agent.pass();
    expect(await agent.timesOf(id)).toEqual([
      ["installed", "2030-01-01T00:00:00.000Z"],
      ["drifted", "2031-01-01T00:00:00.000Z"],
      ["installed", "2031-01-01T00:00:00.000Z"],
      ["drifted", "2024-01-03T00:00:00.000Z"],
      ["installed", "2024-01-03T00:00:00.000Z"],
    ]);
    await agent.end();
  });

  test("does nothing before it ever got what is desired", async () => {
    const agent = await newConnectedAgent();
    await agent.assign((await agent.newRoot()).id, "root");
    await agent.line.refuse();
    expect(await agent.pass()).toMatchObject({ failed: 0, unreachable: expect.any(Error) });
    expect(agent.store()).toEqual({});
    await agent.end();
  });

  test("heals while the server is left alone, and does not ask it", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const id = await agent.assign(root.id, "root");
    await agent.pass();
    await agent.unassign(id);
    rmSync(agent.pathOf("store/root.pem"));
    expect(await agent.pass({ isOffline: true })).toEqual({ failed: 0 });
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    await agent.pass();
    expect(agent.store()).toEqual({});
    await agent.end();
  });

  test("removes nothing when the agent was deleted", async () => {
    const agent = await newConnectedAgent();
    await agent.assign((await agent.newRoot()).id, "root");
    await agent.pass();
    await agent.ask("DELETE", agent.path);
    expect(await agent.pass()).toMatchObject({ unreachable: { message: expect.stringContaining("does not accept the agent's token (401)") } });
    expect(Object.keys(agent.store())).toEqual(["root.pem"]);
    await agent.end();
  });
});

describe("a pass that no other follows", () => {
  test("reports at once that what it healed is installed, and how it was found; what it left as it was is reported once", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const [id, other] = [await agent.assign(root.id, "root"), await agent.assign(root.id, "other")];
    await agent.pass({ isOnce: true });
    rmSync(agent.pathOf("store/root.pem"));
    expect(await agent.pass({ isOnce: true })).toEqual({ failed: 0 });
    expect(await agent.historyOf(id)).toEqual(["installed", DRIFT, "installed"]);
    expect(await agent.historyOf(other)).toEqual(["installed"]);
    expect((await agent.organization.member("GET", `/deployments?state=installed`)).body.items).toHaveLength(2);
    expect(agent.said.filter(({ msg }) => msg === "healed")).toHaveLength(1);
    await agent.end();
  });

  test("reports it later where the server cannot be reached", async () => {
    const agent = await newConnectedAgent();
    const id = await agent.assign((await agent.newRoot()).id, "root");
    await agent.pass({ isOnce: true });
    await agent.line.refuse();
    rmSync(agent.pathOf("store/root.pem"));
    expect(await agent.pass({ isOnce: true })).toMatchObject({ failed: 0, unreachable: expect.any(Error) });
    await agent.line.accept();
    expect(await agent.pass({ isOnce: true })).toEqual({ failed: 0 });
    expect(await agent.historyOf(id)).toEqual(["installed", DRIFT, "installed"]);
    await agent.end();
  });

  test("heals again what did not stay, and does not report it as installed", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const spoil = ["sh", "-c", `[ ! -e ${agent.pathOf("armed")} ] || rm -f ${agent.pathOf("store/root.pem")}; rm -f ${agent.pathOf("armed")}`];
    const id = await agent.assign(root.id, "root", { reloadCommand: spoil });
    await agent.pass({ isOnce: true });
    writeFileSync(agent.pathOf("armed"), "");
    rmSync(agent.pathOf("store/root.pem"));
    expect(await agent.pass({ isOnce: true })).toEqual({ failed: 0 });
    expect(agent.said.filter(({ msg }) => msg === "healed")).toHaveLength(2);
    expect(await agent.historyOf(id)).toEqual(["installed", DRIFT]);
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    await agent.end();
  });
});

describe("a pass over several assignments", () => {
  test("a second assignment of one place fails in words, and gets the place in the pass in which the first goes", async () => {
    const agent = await newConnectedAgent();
    const [first, second] = [await agent.newRoot("First"), await agent.newRoot("Second")];
    const holder = await agent.assign(first.id, "root");
    await agent.pass();
    const waiting = await agent.assign(second.id, "root");
    expect(await agent.pass()).toEqual({ failed: 1 });
    expect(agent.store()).toEqual({ "root.pem": first.pem });
    expect(await agent.historyOf(waiting)).toEqual([expect.stringMatching(/^failed: .*root\.pem belongs to another assignment on this host\. Choose another/)]);
    expect(await agent.pass()).toEqual({ failed: 0 }); // it waits for its next attempt
    await agent.change(holder, { enabled: false });
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(agent.store()).toEqual({ "root.pem": second.pem });
    expect((await agent.historyOf(waiting)).at(-1)).toBe("installed");
    expect(await agent.historyOf(holder)).toEqual(["installed", "removed"]);
    await agent.end();
  });

  test("two that share a setting move to one new bundle in the same pass", async () => {
    const agent = await newConnectedAgent();
    const roots = [await agent.newRoot("First"), await agent.newRoot("Second")];
    const envFilePath = agent.pathOf("environment");
    agent.setPolicy({ files: [envFilePath, agent.pathOf("old.pem"), agent.pathOf("new.pem")] });
    const assign = async ({ id }: { id: string }) => {
      const config = { envFilePath, trustStorePath: agent.pathOf("old.pem") };
      const body = { applicationId: "payments", certificateId: id, trustStoreType: "ssl_cert_file_env", config };
      return String((await agent.ask("POST", `/agents/${agent.id}/assignments`, { body })).id);
    };
    const ids = [await assign(roots[0] as { id: string }), await assign(roots[1] as { id: string })];
    expect(await agent.pass()).toEqual({ failed: 0 });
    for (const id of ids) await agent.ask("PATCH", `${agent.assignments}/${id}`, { body: { config: { trustStorePath: agent.pathOf("new.pem") } } });
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(readFileSync(envFilePath, "utf8")).toContain(`SSL_CERT_FILE=${agent.pathOf("new.pem")}\n`);
    for (const { pem } of roots) expect(readFileSync(agent.pathOf("new.pem"), "utf8")).toContain(pem.trim());
    expect(existsSync(agent.pathOf("old.pem"))).toBe(false);
    for (const id of ids) await agent.unassign(id);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([existsSync(envFilePath), existsSync(agent.pathOf("new.pem"))]).toEqual([false, false]);
    await agent.end();
  });

  test("what is new comes before what is old goes", async () => {
    const agent = await newConnectedAgent();
    const reloadCommand = ["sh", "-c", `ls ${agent.pathOf("store")} | grep pem | xargs >>${agent.pathOf("seen")}`];
    const old = await agent.assign((await agent.newRoot("Old")).id, "old", { reloadCommand });
    await agent.pass();
    await agent.unassign(old);
    await agent.assign((await agent.newRoot("New")).id, "new", { reloadCommand });
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(readFileSync(agent.pathOf("seen"), "utf8").trim().split("\n")).toEqual(["old.pem", "new.pem old.pem", "new.pem"]);
    await agent.end();
  });

  test("what says removeOnRevoke: false stays as it is, whatever becomes of it, until its assignment goes", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const id = await agent.assign(root.id, "root", { removeOnRevoke: false });
    await agent.pass();
    await agent.ask("POST", `/certificates/${root.id}/revoke`, { body: { reason: "superseded" } });
    await agent.pass();
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    rmSync(agent.pathOf("store/root.pem"));
    await agent.pass();
    expect(agent.store()).toEqual({});
    writeFileSync(agent.pathOf("store/root.pem"), root.pem);
    await agent.change(id, { enabled: false });
    await agent.pass();
    expect(agent.store()).toEqual({});
    expect(await agent.historyOf(id)).toEqual(["installed", "removed"]);
    await agent.end();
  });

  test("reports of an assignment that is gone are given up, and hold up no other", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const ids = [await agent.assign(root.id, "one"), await agent.assign(root.id, "two"), await agent.assign(root.id, "three")];
    await agent.pass();
    await agent.line.refuse();
    rmSync(agent.pathOf("store/one.pem"));
    rmSync(agent.pathOf("store/three.pem"));
    await agent.pass();
    await agent.forceUnassign(ids[2] ?? "");
    await agent.line.accept();
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(await agent.historyOf(ids[0] ?? "")).toEqual(["installed", DRIFT.replace("root", "one"), "installed"]);
    await agent.pass(); // which forgets what another assignment of the same certificate keeps
    expect([...agent.state().records.keys()].toSorted()).toEqual(ids.slice(0, 2).toSorted());
    expect(agent.said.map(({ msg }) => msg)).toContain("the server does not take reports of them");
    await agent.end();
  });

  test("one that the agent does not understand spoils no other", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const [odd, good] = [await agent.assign(root.id, "odd"), await agent.assign(root.id, "good")];
    await agent.pass();
    const known = await agent.state().readKnown();
    if (!known) throw new Error("the agent was told nothing");
    rmSync(agent.pathOf("store/good.pem"));
    const items = known.state.items.map((item) => ({
      ...item,
      wish: "of a newer server",
      ...(item.id === odd && { trustStoreType: "quantum_store" as never }),
    }));
    await agent.state().saveKnown({ ...known, state: { ...known.state, items } });
    expect(await agent.pass()).toEqual({ failed: 1 });
    expect(Object.keys(agent.store()).toSorted()).toEqual(["good.pem", "odd.pem"]);
    expect((await agent.historyOf(good)).at(-1)).toMatch(/^drifted/);
    expect((await agent.historyOf(odd)).at(-1)).toMatch(/^failed: The agent does not understand trustStoreType .* Is it older than the server\?$/);
    await agent.end();
  });
});

/** An agent whose reload fails as long as a file is there, and notes each try. */
async function newFailingAgent() {
  const agent = await newConnectedAgent();
  const [tries, fault] = [agent.pathOf("tries"), agent.pathOf("fault")];
  writeFileSync(fault, "");
  const reloadCommand = ["sh", "-c", `[ ! -e ${agent.pathOf("store/root.pem")} ] || echo >>${tries}; [ ! -e ${fault} ]`];
  const root = await agent.newRoot();
  const id = await agent.assign(root.id, "root", { reloadCommand });
  const countTries = () => (existsSync(tries) ? readFileSync(tries, "utf8").split("\n").length - 1 : 0);
  return { ...agent, root, id, countTries, repair: () => rmSync(fault), breakAgain: () => writeFileSync(fault, "") };
}

describe("what failed", () => {
  test("waits one minute, two, four and so on up to an hour, and is reported once", async () => {
    const agent = await newFailingAgent();
    const waits: number[] = [];
    for (let minutes = 0, last = 0; waits.length < 9; minutes++) {
      const before = agent.countTries();
      await agent.pass();
      if (agent.countTries() > before) {
        waits.push(minutes - last);
        last = minutes;
      }
      agent.wait(MINUTE);
    }
    expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
    expect(await agent.historyOf(agent.id)).toEqual([FAILURE]);
    await agent.restart();
    await agent.pass();
    expect(agent.countTries()).toBe(9); // the wait outlives the process
    await agent.pass({ ignoreBackoff: true });
    expect(agent.countTries()).toBe(10);
    await agent.end();
  });

  test("is tried at once when something else is desired, or when the clock was put back", async () => {
    const agent = await newFailingAgent();
    await agent.pass();
    await agent.pass();
    expect(agent.countTries()).toBe(1);
    await agent.change(agent.id, { applicationId: "another" });
    await agent.pass();
    expect(agent.countTries()).toBe(2);
    agent.wait(-48 * 60 * MINUTE);
    agent.repair();
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(agent.store()).toEqual({ "root.pem": agent.root.pem });
    await agent.end();
  });

  test("waits likewise when it is a removal, and puts back what it took", async () => {
    const agent = await newFailingAgent();
    agent.repair();
    await agent.pass();
    agent.breakAgain();
    await agent.change(agent.id, { enabled: false });
    for (const failed of [1, 0]) {
      expect(await agent.pass()).toEqual({ failed });
      expect(agent.store()).toEqual({ "root.pem": agent.root.pem });
    }
    expect(await agent.historyOf(agent.id)).toEqual(["installed", FAILURE]);
    agent.repair();
    agent.wait(MINUTE);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(await agent.historyOf(agent.id)).toEqual(["installed", FAILURE, "removed"]);
    expect(agent.store()).toEqual({});
    await agent.end();
  });

  test("says once that a reload failed before and after rolling back, whatever its process id", async () => {
    const agent = await newConnectedAgent();
    const id = await agent.assign((await agent.newRoot()).id, "root", { reloadCommand: ["sh", "-c", "echo process $$ >&2; false"] });
    await agent.pass();
    expect(await agent.historyOf(id)).toEqual([
      expect.stringMatching(/^failed: sh ended with exit code 1: …\. Rolled back: the store is as it was\. The rest is in the agent's log on the host\.$/),
    ]);
    await agent.end();
  });

  test("says so in words that the server takes, whatever a tool prints", async () => {
    const agent = await newFailingAgent();
    const print = `head -c 300000 /dev/zero | tr "\\0" x; printf "\\360\\237\\222\\245%.0s" $(seq 2000); printf "\\000\\033[31m\\377\\r\\n" >&2; exit 7`;
    writeFileSync(agent.pathOf("loud"), `#!/bin/sh\n${print}\n`);
    chmodSync(agent.pathOf("loud"), 0o755);
    await agent.change(agent.id, { config: { reloadCommand: [agent.pathOf("loud")] } });
    expect(await agent.pass()).toEqual({ failed: 1 });
    expect(await agent.historyOf(agent.id)).toEqual([expect.stringMatching(/^failed: .*loud ended with exit code 7: /)]);
    await agent.end();
  });
});
