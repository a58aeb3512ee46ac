import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newRecord, noteReport, openState } from "#agent/state";
import { newConnectedAgent } from "../support/agent/connected-agent";
import { stateOf } from "../support/agent/observing";

setDefaultTimeout(300_000);

const scratch = () => mkdtempSync(join(tmpdir(), "certitude-state-"));
const ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

describe("the agent's own directory", () => {
  test("is made for the agent alone, with all that it holds", async () => {
    const directory = scratch();
    const state = await openState(join(directory, "deep/state"));
    await state.save(newRecord(ID));
    await state.saveKnown({ etag: '"1"', state: { items: [], keep: [] } });
    const modes = ["", "assignments", `assignments/${ID}.json`, "desired-state.json"].map((each) => statSync(join(directory, "deep/state", each)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
    state.close();
    rmSync(directory, { recursive: true });
  });

  test("is refused when others may write to it, when it is another's, and when another agent has it", async () => {
    const directory = scratch();
    for (const mode of [0o770, 0o702]) {
      chmodSync(directory, mode);
      await expect(openState(directory)).rejects.toThrow(`Others may write the state directory ${directory}: chmod 700 ${directory}`);
    }
    chmodSync(directory, 0o700);
    chownSync(directory, 65_534, 65_534);
    for (const isReadOnly of [false, true])
      await expect(openState(directory, { isReadOnly })).rejects.toThrow("belongs to another user. Run this as that user");
    chownSync(directory, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    const state = await openState(directory);
    await expect(openState(directory)).rejects.toThrow(`--state-dir ${directory} is in use by another certitude.`);
    state.close();
    (await openState(directory)).close();
    rmSync(directory, { recursive: true });
  });

  test("is cleared of what a killed agent was writing, and of nothing else", async () => {
    const directory = scratch();
    mkdirSync(join(directory, "assignments"));
    for (const each of [".desired-state.json.certitude-tmp", `assignments/.${ID}.json.certitude-tmp`, "notes", "assignments/notes"])
      writeFileSync(join(directory, each), "{");
    const state = await openState(directory);
    const left = readdirSync(directory, { recursive: true }).map(String);
    expect(left.filter((name) => !name.startsWith("lock")).toSorted()).toEqual(["assignments", "assignments/notes", "notes"]);
    expect(state.records.size).toBe(0);
    state.close();
    rmSync(directory, { recursive: true });
  });

  test("is only read in a dry run, for all who have it, damaged or not there at all", async () => {
    const directory = scratch();
    const state = await openState(directory);
    await state.save(newRecord(ID));
    writeFileSync(join(directory, "assignments/.x.certitude-tmp"), "");
    truncateSync(join(directory, "assignments", `${ID}.json`), 10);
    const before = stateOf(directory);
    const reading = await openState(directory, { isReadOnly: true });
    expect([...reading.records.keys()]).toEqual([ID]);
    reading.close();
    expect(stateOf(directory)).toEqual(before);
    const missing = join(directory, "missing");
    expect((await openState(missing, { isReadOnly: true })).records.size).toBe(0);
    expect(existsSync(missing)).toBe(false);
    state.close();
    rmSync(directory, { recursive: true });
  });
});

describe("the reports that wait", () => {
  const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 12, minute));

  test("are no more than twenty for an assignment, the newest, and none that says what the last one said", () => {
    const record = newRecord(ID);
    for (let index = 0; index < 25; index++) for (const _ of [1, 2]) noteReport(record, { state: "failed", message: `${index}` }, at(0));
    expect(record.reports.map(({ message }) => message)).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 5}`));
    expect(noteReport(record, { state: "failed", message: "24" }, at(0))).toBe(false);
  });

  test("have the time at which each was first so; a later one that says the same is none", () => {
    const record = newRecord(ID);
    expect([noteReport(record, { state: "installed" }, at(0)), noteReport(record, { state: "installed" }, at(1))]).toEqual([true, false]);
    record.reports = [];
    record.lastAcknowledged = JSON.stringify({ assignmentId: ID, state: "installed" }); // as a release without such times left it
    expect([noteReport(record, { state: "installed" }, at(2)), noteReport(record, { state: "drifted" }, at(3))]).toEqual([false, true]);
    expect(record.reports).toEqual([{ assignmentId: ID, state: "drifted", observedAt: "2030-01-01T12:03:00.000Z" }]);
  });
});

describe("a file of it that was damaged", () => {
  const DAMAGES = ["", "{", "null", "[]", "{}", '"text"', '{"etag":"x"}', '{"etag":"x","state":{}}', '{"etag":"x","state":{"items":[{}],"keep":[]}}'];

  test.each(DAMAGES)("what is desired is asked for again: %p", async (damage) => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    await agent.assign(root.id, "root");
    await agent.pass();
    writeFileSync(agent.pathOf("state/desired-state.json"), damage);
    await agent.line.refuse();
    expect(await agent.pass()).toMatchObject({ failed: 0, unreachable: expect.any(Error) });
    await agent.line.accept();
    rmSync(agent.pathOf("store/root.pem"));
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    await agent.end();
  });

  test("the record of an assignment is kept aside; what is right stays, and what is not is put right", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const ids = [await agent.assign(root.id, "right"), await agent.assign(root.id, "gone"), await agent.assign(root.id, "wrong")];
    await agent.pass();
    const recordOf = (index: number) => agent.pathOf("state/assignments", `${ids[index]}.json`);
    for (const index of [0, 1, 2]) truncateSync(recordOf(index), 30);
    rmSync(agent.pathOf("store/gone.pem"));
    writeFileSync(agent.pathOf("store/wrong.pem"), "somebody's");
    await agent.restart();
    expect(await agent.pass()).toEqual({ failed: 1 });
    expect(agent.store()).toEqual({ "right.pem": root.pem, "gone.pem": root.pem, "wrong.pem": "somebody's" });
    expect((await agent.historyOf(ids[2] ?? "")).at(-1)).toContain("wrong.pem is there already, and not by this agent");
    expect(readFileSync(`${recordOf(0)}.damaged`, "utf8")).toHaveLength(30);
    await agent.end();
  });

  test("what a damaged record named is not removed by guess: that is said until a person has looked", async () => {
    const agent = await newConnectedAgent();
    const root = await agent.newRoot();
    const id = await agent.assign(root.id, "root");
    await agent.pass();
    writeFileSync(agent.pathOf("state/assignments", `${id}.json`), "");
    await agent.change(id, { enabled: false });
    for (const failed of [1, 0]) {
      await agent.restart();
      expect(await agent.pass()).toEqual({ failed }); // the second time it waits
    }
    expect(agent.store()).toEqual({ "root.pem": root.pem });
    expect(await agent.historyOf(id)).toEqual([
      "installed",
      expect.stringMatching(/^failed: The agent's record … was damaged and is kept as …\. .* The rest is in the agent's log on the host\.$/),
    ]);
    rmSync(agent.pathOf("state/assignments", `${id}.json`));
    await agent.restart();
    expect(await agent.pass({ ignoreBackoff: true })).toEqual({ failed: 0 });
    await agent.end();
  });
});
