import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { argvOf, permittedCall } from "#agent/host/arguments";
import { readSnapshot, writeAtomically } from "#agent/host/files";
import { newRecord } from "#agent/state";
import { commit, rollBack } from "#agent/transaction/journal";
import { beginTransaction } from "#agent/transaction/transaction";
import type { AwaitRebuild } from "#agent/transaction/turns";
import { createLog } from "#log/log";
import { newAgentHost } from "../../support/agent/agent-host";
import { stateOf } from "../../support/agent/observing";

setDefaultTimeout(300_000);

/** An attempt on a scratch host, which may be taken back. */
async function begin() {
  const agent = await newAgentHost();
  mkdirSync(agent.pathOf("place"));
  const journal = newRecord(crypto.randomUUID());
  const taken = new Set<string>();
  const isOthers = (name: string) => taken.has(name);
  const attempt = { host: agent.host, log: createLog("silent"), journal, save: () => agent.state.save(journal), isOthers, isStayingOthers: isOthers };
  const at = (name: string) => agent.pathOf("place", name);
  return {
    agent,
    journal,
    taken,
    at,
    begin: (awaitRebuild?: AwaitRebuild) => beginTransaction({ ...attempt, awaitRebuild }),
    settle: () => commit(attempt),
    rollBack: (awaitRebuild?: AwaitRebuild) => rollBack({ ...attempt, awaitRebuild }),
    state: () => stateOf(agent.pathOf("place")),
    read: (name: string) => readFileSync(at(name), "utf8"),
  };
}

const PLAIN = { mode: 0o644 };

describe("an attempt that is taken back", () => {
  test("leaves everything as it was, its owner and mode too, whatever was done", async () => {
    const { agent, at, begin: start, rollBack: back, state, settle: end, journal } = await begin();
    const first = start();
    await first.writeOwned(at("ours"), "ours", { mode: 0o600, owner: { uid: 65_534, gid: 65_534 } });
    await end();
    writeFileSync(at("shared"), "theirs", { mode: 0o640 });
    writeFileSync(at("server.key"), "bootstrap", { mode: 0o400 });
    const before = { state: state(), claims: structuredClone(journal.ownership) };
    const transaction = start();
    await transaction.writeOwned(at("ours"), "ours, the next", PLAIN);
    await transaction.restore(at("ours"));
    await transaction.writeOwned(at("ours"), "once more", PLAIN);
    await transaction.writeOwned(at("server.key"), "key", { mode: 0o600, takesOver: true });
    await transaction.writeOwned(at("deep/er/new"), "new", PLAIN);
    await transaction.editShared(at("shared"), "theirs and ours");
    await transaction.editShared(at("shared"), null);
    await transaction.editWith(at("made"), async (copy) => writeFileSync(copy, "by a tool"));
    await transaction.run(permittedCall(["touch", at("touched")]), { undo: { argv: permittedCall(["rm", at("touched")]) } });
    await transaction.claim("an entry");
    expect(await back()).toEqual([]);
    expect({ state: state(), claims: journal.ownership }).toEqual(before);
    agent.remove();
  });

  test("leaves alone what another has changed meanwhile, says so, and takes back the rest", async () => {
    const { agent, at, begin: start, rollBack: back, read } = await begin();
    writeFileSync(at("second"), "before");
    const transaction = start();
    await transaction.writeOwned(at("first"), "ours", PLAIN);
    await transaction.editShared(at("second"), "ours");
    await transaction.writeOwned(at("third"), "ours", PLAIN);
    writeFileSync(at("second"), "theirs");
    writeFileSync(at("third"), "theirs");
    expect(await back()).toEqual([at("third"), at("second")].map((path) => `${path} was changed by another program meanwhile and was left as it is.`));
    expect([existsSync(at("first")), read("second"), read("third")]).toEqual([false, "theirs", "theirs"]);
    agent.remove();
  });

  test("runs what makes a program reread after the files are back, and says when that fails", async () => {
    const { agent, at, begin: start, rollBack: back, read } = await begin();
    writeFileSync(at("shared"), "before");
    const transaction = start();
    await transaction.reload(permittedCall(["cp", at("shared"), at("seen")]));
    await transaction.editShared(at("shared"), "after");
    await transaction.reload(permittedCall(["sh", "-c", `[ ! -e ${at("fault")} ]`]));
    writeFileSync(at("fault"), "");
    expect(await back()).toEqual(["sh ended with exit code 1: it said nothing."]);
    expect(read("seen")).toBe("before");
    agent.remove();
  });
});

describe("a file of the agent's own", () => {
  test("is refused where another assignment has its own, or another", async () => {
    const { agent, at, begin: start, taken, read } = await begin();
    writeFileSync(at("theirs"), "theirs");
    taken.add(at("other"));
    await expect(start().writeOwned(at("theirs"), "ours", PLAIN)).rejects.toThrow("is there already, and not by this agent. Move it away");
    await expect(start().writeOwned(at("other"), "ours", PLAIN)).rejects.toThrow("belongs to another assignment on this host. Choose another alias");
    await expect(start().claim(at("other"))).rejects.toThrow("belongs to another assignment on this host");
    expect([read("theirs"), existsSync(at("other"))]).toEqual(["theirs", false]);
    agent.remove();
  });

  test("gives back what it took over, once, and stays when another has replaced it", async () => {
    const { agent, at, begin: start, settle: end, read } = await begin();
    writeFileSync(at("key"), "bootstrap", { mode: 0o640 });
    const before = stateOf(agent.pathOf("place"));
    const transaction = start();
    for (const content of ["first", "second"]) await transaction.writeOwned(at("key"), content, { mode: 0o600, takesOver: true });
    await transaction.writeOwned(at("certificate"), "ours", PLAIN);
    await end();
    writeFileSync(at("certificate"), "theirs");
    const removal = start();
    expect([await removal.restore(at("key")), await removal.restore(at("certificate")), await removal.restore(at("never"))]).toEqual([true, true, false]);
    await end();
    expect(read("certificate")).toBe("theirs");
    rmSync(at("certificate"));
    expect(stateOf(agent.pathOf("place"))).toEqual(before);
    agent.remove();
  });
});

describe("a file that is written", () => {
  test("is whole or as before, and never follows a link that was planted for its temporary file", async () => {
    const { agent, at, read } = await begin();
    writeFileSync(at("precious"), "precious");
    symlinkSync(at("precious"), at(".file.certitude-tmp"));
    await writeAtomically(at("file"), "whole", { mode: 0o640, uid: 65_534, gid: 65_534 });
    const { mode, uid, gid } = statSync(at("file"));
    expect([mode & 0o777, uid, gid, read("file"), read("precious"), existsSync(at(".file.certitude-tmp"))]).toEqual([
      0o640,
      65_534,
      65_534,
      "whole",
      "precious",
      false,
    ]);
    mkdirSync(at("full"));
    await expect(writeAtomically(at("full"), "whole", { mode: 0o640, uid: 0, gid: 0 })).rejects.toThrow();
    expect(existsSync(at(".full.certitude-tmp"))).toBe(false);
    agent.remove();
  });

  test("is read only where it is a plain file", async () => {
    const { agent, at } = await begin();
    expect(await readSnapshot(at("missing"))).toBeUndefined();
    expect(await readSnapshot(at("missing/deeper"))).toBeUndefined();
    mkdirSync(at("directory"));
    await expect(readSnapshot(at("directory"))).rejects.toThrow("is not a plain file.");
    symlinkSync(at("missing"), at("link"));
    await expect(readSnapshot(at("link"))).rejects.toThrow(`is a symbolic link to ‹${at("missing")}›. Name the file itself, or remove the link.`);
    agent.remove();
  });
});

describe("a program that one run of is enough for many", () => {
  /** An attempt that is asked to wait for the run of others, and notes what it waits for. */
  async function beginWaiting() {
    const started = await begin();
    const awaited: (readonly string[])[] = [];
    const awaitRebuild = async ({ argv }: { argv: readonly string[] }) => void awaited.push(argv);
    return { ...started, awaited, begin: () => started.begin(awaitRebuild), rollBack: () => started.rollBack(awaitRebuild) };
  }

  test("is waited for where the attempt has written its own files alone, and once more after a rollback, however often it was called", async () => {
    const { agent, at, begin: start, settle: end, rollBack: back, awaited, journal } = await beginWaiting();
    await start().writeOwned(at("deep/ours"), "ours", PLAIN);
    await end();
    const transaction = start();
    await transaction.restore(at("deep/ours"));
    await transaction.rebuild(argvOf("true"), argvOf("true", "afresh"));
    await transaction.writeOwned(at("elsewhere"), "ours", PLAIN);
    await transaction.rebuild(argvOf("true"), argvOf("true", "afresh"));
    expect(journal.undo.filter(({ kind }) => kind === "again")).toHaveLength(2);
    expect(await back()).toEqual([]);
    expect(awaited).toEqual([["true"], ["true"], ["true", "afresh"]]);
    agent.remove();
  });

  test("runs at once where the attempt has changed what others may change too, so that none of them comes between", async () => {
    const { agent, at, begin: start, awaited } = await beginWaiting();
    const transaction = start();
    await transaction.editShared(at("shared"), "theirs and ours");
    await transaction.rebuild(permittedCall(["touch", at("ran")]));
    expect([awaited, existsSync(at("ran"))]).toEqual([[], true]);
    agent.remove();
  });
});
