import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { thisHost } from "#agent/host/host";
import { policyReader } from "#agent/policy/host-policy";
import { runAgent } from "#agent/run";
import { createLog } from "#log/log";
import { newConnectedAgent } from "../../support/agent/connected-agent";
import { until } from "../../support/agent/observing";
import { policyAt } from "../../support/agent/policies";
import { newDirectory, PROGRAM } from "../../support/server/program";

setDefaultTimeout(300_000);
const { directory, remove } = newDirectory();
afterAll(remove);

/** Runs a line in a shell, where `certitude` is this program. */
async function paste(line: string) {
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "certitude"), `#!/bin/sh\nexec ${PROGRAM} "$@"\n`);
  chmodSync(join(bin, "certitude"), 0o755);
  const child = Bun.spawn(["sh", "-c", line], { cwd: directory, env: { PATH: `${bin}:${Bun.env.PATH}` }, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

test("what the host refuses is reported to the server with a command; once an administrator of the host has pasted it, the running agent installs", async () => {
  const agent = await newConnectedAgent();
  agent.setPolicy({});
  const root = await agent.newRoot();
  const marker = agent.pathOf('it\'s "done" $HOME `id`');
  const id = await agent.assign(root.id, "root");
  await agent.ask("PATCH", `${agent.assignments}/${id}`, { body: { config: { reloadCommand: ["sh", "-c", 'touch "$0"', marker] } } });
  const stopping = new AbortController();
  const { server, token, policySource: policy } = agent;
  const connection = () => ({ token, tls: {}, hasOwnAuthority: false });
  const options = { server, connection, stateDirectory: agent.pathOf("loop"), policy, interval: 100, isOnce: false, isDryRun: false };
  const ended = runAgent(options, { host: thisHost({ PATH: Bun.env.PATH }), log: createLog("silent"), version: "1", signal: stopping.signal });
  const lastOf = async () => (await agent.historyOf(id)).at(-1) ?? "";
  await until(async () => expect(await lastOf()).toStartWith("refused: The policy of this host does not permit writing into "));
  expect(agent.store()).toEqual({});
  const [, line = ""] = (await lastOf()).split("permits it by: ");
  expect(line).toStartWith(`certitude agent policy allow --policy ${agent.pathOf("policy.json")} --directory ${agent.pathOf("store")} --reload '`);
  expect(await paste(line)).toMatchObject({ code: 0, err: "" });
  await until(async () => expect(await lastOf()).toBe("installed"));
  expect(agent.store()).toEqual({ "root.pem": root.pem });
  expect(readdirSync(agent.pathOf())).toContain('it\'s "done" $HOME `id`');

  writeFileSync(policy.file, "{");
  await until(async () => expect(await lastOf()).toStartWith("refused: The policy of this host cannot be used, so that it permits nothing: "));
  expect(agent.store()).toEqual({ "root.pem": root.pem });
  stopping.abort();
  await ended;
  await agent.end();
});

test("a policy is read again each time, and said once as long as it stays the same; one that cannot be used, or is missing where it was named, permits nothing", async () => {
  const said: { msg: string; reason?: string }[] = [];
  const log = createLog("info", { write: (text) => void said.push(JSON.parse(text)) });
  const file = join(directory, "policy.json");
  const read = policyReader(policyAt(file), log);
  expect(await read()).toMatchObject({
    policy: {},
    fault: `${file} does not exist. Make it by certitude agent policy allow --policy ${file} and what it is to permit.`,
  });
  writeFileSync(file, '{"privateKeys": true}');
  for (let times = 0; times < 3; times++) expect(await read()).toEqual(expect.objectContaining({ policy: { privateKeys: true } }));
  chmodSync(file, 0o666);
  expect(await read()).toMatchObject({ policy: {}, fault: expect.stringContaining("may be written by other users") });
  rmSync(file);
  mkdirSync(file);
  expect(await read()).toMatchObject({ policy: {}, fault: `${file} is not a plain file.` });
  expect(said.map(({ msg }) => msg)).toEqual([
    "the policy of this host cannot be used: nothing is permitted",
    "the policy of this host",
    "the policy of this host cannot be used: nothing is permitted",
    "the policy of this host cannot be used: nothing is permitted",
  ]);
});
