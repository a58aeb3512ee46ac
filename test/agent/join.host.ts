import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newAgent } from "../support/server/agents";
import { call } from "../support/server/call";
import { newJoinToken } from "../support/server/hosts";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { PROGRAM } from "../support/server/program";
import { startReverseProxy } from "../support/server/reverse-proxy";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

const scratch = mkdtempSync(join(tmpdir(), "certitude-joining-"));

let proxy: Awaited<ReturnType<typeof startReverseProxy>>;
let organization: TestOrganization;
/** The server behind a path of nginx, which names another host to it, and compresses what it answers. */
let outer: string;

beforeAll(async () => {
  organization = await newOrganization();
  const shape =
    "rewrite ^/certitude/(.*)$ /$1 break; proxy_pass http://$app; proxy_set_header Host inner.example; gzip on; gzip_proxied any; gzip_min_length 1; gzip_types application/json;";
  proxy = await startReverseProxy(world.url, { prefixed: shape });
  outer = `${proxy.urls.prefixed}/certitude`;
});
afterAll(async () => {
  await proxy.stop();
  rmSync(scratch, { recursive: true });
});

/** Runs a command of the agent as a process of its own. */
async function certitude(args: string[], stdin = "") {
  const child = Bun.spawn([PROGRAM, "agent", ...args], { stdin: new Blob([stdin]), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

describe("certitude agent join", () => {
  test("makes this host an agent, behind a proxy with a path and another name; its agent runs with the state directory alone", async () => {
    const { token } = await newJoinToken(organization, { labels: { env: "prod" } });
    const stateDir = join(scratch, "joined");
    const joined = await certitude(["join", "--server", outer, "--token-file", "-", "--state-dir", stateDir, "--name", "web-07"], token);
    expect(joined).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("This host is the agent web-07 (") });
    const [agent] = (await organization.member("GET", "/agents?selector=env%3Dprod")).body.items;
    for (let passes = 0; passes < 2; passes++) {
      const { code, stderr, stdout } = await certitude(["--state-dir", stateDir, "--once"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("the host has joined: its key proves who it is");
    }
    const { body } = await organization.member("GET", `/agents/${agent.id}`);
    expect([body.name, body.access, body.host.platform, body.lastSeenAt !== null]).toEqual(["web-07", "key", "linux", true]);
    const { credential } = JSON.parse(readFileSync(join(stateDir, "identity.json"), "utf8"));
    expect((await call("GET", "/agent/assignments", { token: credential })).status).toBe(401);
  });

  test("changes an agent with a long-lived token over to a key, while that one's own directory stays", async () => {
    const agent = await newAgent(organization, { name: "old" });
    const stateDir = join(scratch, "changing");
    const tokenFile = join(scratch, "token");
    writeFileSync(tokenFile, agent.token, { mode: 0o600 });
    const run = ["--server", outer, "--token-file", tokenFile, "--state-dir", stateDir, "--once"];
    const before = await certitude(run);
    expect([before.code, before.stdout]).toEqual([0, expect.stringContaining("the server's key is trusted from now on")]);
    expect(await certitude(["join", "--server", outer, "--token-file", tokenFile, "--state-dir", stateDir])).toMatchObject({ code: 0, stderr: "" });
    expect((await agent.call("GET", "/agent/assignments")).status).toBe(401);
    expect((await certitude(run)).code).toBe(0);
    expect((await organization.member("GET", agent.path)).body).toMatchObject({ name: "old", access: "key" });
  });

  test("2 for wrong usage, 1 with a sentence for a token that the server does not take", async () => {
    const stateDir = join(scratch, "refused");
    const attempt = (...args: string[]) => certitude(["join", "--server", outer, "--state-dir", stateDir, ...args]);
    expect(await attempt()).toMatchObject({ code: 2, stderr: "Give either --token or --token-file.\n" });
    expect(await attempt("--token", "cat_x")).toMatchObject({ code: 2, stderr: expect.stringContaining("This is no join token") });
    expect(await attempt("--token", `caj_${"x".repeat(43)}`)).toMatchObject({ code: 1, stderr: expect.stringContaining("does not know this token (401)") });
    expect(existsSync(stateDir)).toBe(false);
    expect(await certitude(["--state-dir", stateDir, "--once"])).toMatchObject({ code: 2, stderr: expect.stringContaining("this host has not joined") });
  });
});
