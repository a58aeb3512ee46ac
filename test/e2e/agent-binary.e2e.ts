import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Installation, newInstallation } from "../support/agent/installation";
import { newAuthority } from "../support/pki/authority";
import { PROGRAM } from "../support/server/executable";

setDefaultTimeout(300_000);

const AGENT = join(dirname(PROGRAM), "certitude-agent");
let installation: Installation;
beforeAll(async () => {
  installation = await newInstallation();
});
afterAll(() => installation.remove());

test("the agent's own executable does the agent's work, its commands without the word agent; it is smaller than the whole", async () => {
  const authority = await newAuthority();
  const agent = await installation.enrol();
  mkdirSync(agent.pathOf("store"));
  const rootId = await installation.importPem(authority.root.pem);
  await agent.assign(rootId, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: agent.pathOf("store"), alias: "root" } });
  async function call(...args: string[]) {
    const { cwd, env } = agent.host;
    const child = Bun.spawn([AGENT, ...args], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    return { out: await child.stdout.text(), err: await child.stderr.text(), code: await child.exited };
  }
  const place = ["--state-dir", agent.pathOf("state")];
  const policy = ["--policy", agent.pathOf("policy.json")];
  const own = ["--server", installation.url, "--token-file", agent.pathOf("token"), ...place, ...policy];
  expect(await call("--once", ...own)).toMatchObject({ code: 0, err: "" });
  expect(readFileSync(agent.pathOf("store", "root.pem"), "utf8")).toBe(authority.root.pem);
  expect((await call("status", ...place)).out).toContain("holds  openssl_ca_dir  root");
  expect((await call("install", "--print", ...own)).out).toContain(`\nExecStart=${AGENT} run --server ${installation.url} `);
  expect(await call("remove", "--all", ...place, ...policy)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^removed {2}openssl_ca_dir {2}root\nstays /),
  });
  expect(statSync(AGENT).size).toBeLessThan(statSync(PROGRAM).size);
  authority.remove();
});
