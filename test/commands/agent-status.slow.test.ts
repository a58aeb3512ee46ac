import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { thisHost } from "#agent/host/host";
import { runAgent } from "#agent/run";
import { createLog } from "#log/log";
import { type ConnectedAgent, newConnectedAgent } from "../support/agent/connected-agent";
import { run } from "../support/server/program";

setDefaultTimeout(300_000);

/** One pass of an agent with a directory of its own, which it leaves. */
async function passOnce({ server, token, pathOf, policySource }: ConnectedAgent) {
  const options = {
    server,
    connection: () => ({ token, tls: {}, hasOwnAuthority: false }),
    stateDirectory: pathOf("own"),
    policy: policySource,
    interval: 1,
    isOnce: true,
    isDryRun: false,
  };
  return runAgent(options, { host: thisHost({ PATH: Bun.env.PATH }), log: createLog("silent"), version: "1.2.3", signal: new AbortController().signal });
}

test("status shows what holds and what does not, with why; remove --all leaves nothing of the agent's, and what is another's", async () => {
  const agent = await newConnectedAgent();
  const policy = ["--policy", agent.policySource.file];
  const place = ["--state-dir", agent.pathOf("own")];
  expect(await run(["agent", "status", ...place])).toMatchObject({ code: 1, err: expect.stringContaining("does not exist: no agent has run here") });
  const root = await agent.newRoot();
  const ids = [await agent.assign(root.id, "root"), await agent.assign(root.id, "second")];
  writeFileSync(agent.pathOf("store/taken.pem"), "theirs");
  ids.push(await agent.assign(root.id, "taken"));
  ids.push(await agent.assign(root.id, "elsewhere", { trustStorePath: agent.pathOf("elsewhere") }));
  await passOnce(agent);
  const before = await run(["agent", "status", "--json", ...place]);
  expect(before.code).toBe(1);
  const { isRunning, reportsWaiting, assignments } = JSON.parse(before.out);
  expect([isRunning, reportsWaiting]).toEqual([false, 0]);
  const stateOf = (id?: string) => assignments.find((each: { assignmentId: string }) => each.assignmentId === id);
  expect(ids.map((id) => stateOf(id).state)).toEqual(["holds", "holds", "differs", "refused"]);
  expect(stateOf(ids[2])).toMatchObject({
    alias: "taken",
    store: "openssl_ca_dir",
    why: expect.stringContaining("is there already, and not by this agent"),
    retryAt: expect.any(String),
  });
  expect(stateOf(ids[3]).why).toEndWith(`--directory ${agent.pathOf("elsewhere")}`);

  rmSync(agent.pathOf("store/second.pem"));
  const { code, out, err } = await run(["agent", "status", ...place]);
  expect([code, err]).toEqual([1, "3 of 4 do not hold."]);
  expect(out.split("\n")[0]).toBe("The agent does not run; every report is delivered.");
  expect(out).toMatch(/^holds {4}openssl_ca_dir {2}root/m);
  expect(out).toMatch(/^refused {2}openssl_ca_dir {2}elsewhere .*\n {2}The policy of this host does not permit/m);
  expect(out).toMatch(/^differs {2}openssl_ca_dir {2}second .*\n {2}second.pem is missing$/m);

  expect(await run(["agent", "remove", ...place])).toMatchObject({ code: 2, err: expect.stringContaining("Say --all") });
  expect(agent.store()).toMatchObject({ "root.pem": root.pem });
  const removed = await run(["agent", "remove", "--all", "--json", ...policy, ...place]);
  expect([removed.code, removed.err]).toEqual([0, ""]);
  expect(JSON.parse(removed.out).map(({ state }: { state: string }) => state)).not.toContain("failed");
  expect(agent.store()).toEqual({ "taken.pem": "theirs" });
  expect(await run(["agent", "status", ...place])).toEqual({
    code: 0,
    out: [
      "The agent does not run; every report is delivered.",
      `The policy is ${agent.policySource.file}, which is in order (policy show).`,
      "Nothing is assigned to this host.",
    ].join("\n"),
    err: "",
  });
  await agent.end();
});

test("remove --all says what it could not remove, with why: exit 1; once that is mended, the rest goes", async () => {
  const agent = await newConnectedAgent();
  const policy = ["--policy", agent.policySource.file];
  const place = ["--state-dir", agent.pathOf("own")];
  const root = await agent.newRoot();
  await agent.assign(root.id, "root");
  await passOnce(agent);
  await Bun.$`chattr +i ${agent.pathOf("store/root.pem")}`.quiet();
  const { code, out, err } = await run(["agent", "remove", "--all", ...policy, ...place]);
  expect([code, err]).toEqual([1, expect.stringContaining("1 of 1 could not be removed.")]);
  expect(out).toMatch(/^failed {2}openssl_ca_dir {2}root\n {2}.*root.pem cannot be removed: the agent's user may not, or the file is immutable./);
  await Bun.$`chattr -i ${agent.pathOf("store/root.pem")}`.quiet();
  expect(await run(["agent", "remove", "--all", ...policy, ...place])).toMatchObject({
    code: 0,
    out: expect.stringContaining("removed  openssl_ca_dir  root"),
  });
  expect(existsSync(agent.pathOf("store/root.pem"))).toBe(false);
  await agent.end();
});

test("the directory of another user's agent is that user's alone: root, too, has other places", async () => {
  const agent = await newConnectedAgent();
  await passOnce(agent);
  await Bun.$`chown 65534 ${agent.pathOf("own")}`;
  for (const command of [["status"], ["remove", "--all", "--policy", agent.policySource.file]])
    expect(await run(["agent", ...command, "--state-dir", agent.pathOf("own")])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${agent.pathOf("own")} belongs to another user. Run this as that user: sudo -u '#65534'`),
    });
  await agent.end();
});

test("remove --all stops where an agent runs; status says that it runs", async () => {
  const agent = await newConnectedAgent(); // which has its directory
  const policy = ["--policy", agent.policySource.file];
  const place = ["--state-dir", agent.pathOf("state")];
  expect(await run(["agent", "remove", "--all", ...policy, ...place])).toMatchObject({
    code: 1,
    err: expect.stringContaining("is in use by another certitude. Stop that one first"),
  });
  expect(JSON.parse((await run(["agent", "status", "--json", ...place])).out)).toEqual({
    isRunning: true,
    reportsWaiting: 0,
    policy: { file: "/etc/certitude-agent/policy.json", exists: false, fault: null },
    assignments: [],
    challenges: [],
  });
  await agent.end();
});

test("status says which policy counts, and whether it can be used: exit 1 where it cannot", async () => {
  const agent = await newConnectedAgent();
  await passOnce(agent);
  const { file } = agent.policySource;
  const status = (...more: string[]) => run(["agent", "status", "--state-dir", agent.pathOf("own"), "--policy", file, ...more]);
  expect((await status()).out).toContain(`\nThe policy is ${file}, which is in order (policy show).\n`);
  expect(JSON.parse((await status("--json")).out).policy).toEqual({ file, exists: true, fault: null });
  chmodSync(file, 0o666);
  const fault = `${file} may be written by other users, so that it proves nothing: chmod go-w ${file}`;
  expect(await status()).toMatchObject({
    code: 1,
    out: expect.stringContaining(`\nThe policy cannot be used, so that nothing is permitted: ${fault}\n`),
    err: "The policy of this host cannot be used.",
  });
  expect(JSON.parse((await status("--json")).out).policy).toEqual({ file, exists: true, fault });
  await agent.end();
});

test("remove --all says what stays, and what to do next; --purge leaves nothing of the agent's own, once nothing that it installed is left", async () => {
  const agent = await newConnectedAgent();
  const { file } = agent.policySource;
  const place = ["--policy", file, "--state-dir", agent.pathOf("own")];
  await agent.assign((await agent.newRoot()).id, "root");
  await passOnce(agent);
  await Bun.$`chattr +i ${agent.pathOf("store/root.pem")}`.quiet();
  expect(await run(["agent", "remove", "--all", "--purge", ...place])).toMatchObject({
    code: 1,
    err: expect.stringContaining("1 of 1 could not be removed. Nothing is purged before that, for its records are needed."),
  });
  expect(existsSync(file)).toBe(true);
  await Bun.$`chattr -i ${agent.pathOf("store/root.pem")}`.quiet();
  expect(await run(["agent", "remove", "--all", ...place])).toEqual({
    code: 0,
    out: [
      "removed  openssl_ca_dir  root",
      `stays  ${agent.pathOf("own")}  the host's identity and keys`,
      `stays  ${file}`,
      "With --purge these go too, but for hooks of your own.",
      "Next: delete this host's agent on the server.",
    ].join("\n"),
    err: "",
  });
  expect(JSON.parse((await run(["agent", "remove", "--all", "--purge", "--json", ...place])).out)).toEqual({
    assignments: [],
    purged: [
      { path: file, state: "removed" },
      { path: agent.pathOf("own"), state: "removed" },
    ],
  });
  expect([existsSync(file), existsSync(agent.pathOf("own"))]).toEqual([false, false]);
  expect(await run(["agent", "remove", "--all", ...place])).toMatchObject({ code: 1, err: expect.stringContaining("does not exist: no agent has run here") });
  await agent.end();
});
