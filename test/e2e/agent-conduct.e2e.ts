import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Installation, type InstalledAgent, newInstallation } from "../support/agent/installation";
import { stateOf } from "../support/agent/observing";
import { newAuthority } from "../support/pki/authority";
import { run } from "../support/server/executable";

setDefaultTimeout(300_000);

let installation: Installation;
let authority: Awaited<ReturnType<typeof newAuthority>>;
let rootId: string;
beforeAll(async () => {
  [installation, authority] = await Promise.all([newInstallation(), newAuthority()]);
  rootId = await installation.importPem(authority.root.pem);
});
afterAll(async () => {
  authority.remove();
  await installation.remove();
});

const statesOf = (reports: { state: string }[]) => reports.map(({ state }) => state);

/** An agent with a root assigned to a scratch directory, and installed there. */
async function withScratchStore() {
  const agent = await installation.enrol();
  mkdirSync(agent.pathOf("store"));
  const { id } = await agent.assign(rootId, {
    trustStoreType: "openssl_ca_dir",
    config: { trustStorePath: agent.pathOf("store"), alias: "root" },
  });
  expect((await agent.once()).code).toBe(0);
  const path = agent.pathOf("store", "root.pem");
  expect(readFileSync(path, "utf8")).toBe(authority.root.pem);
  return { ...agent, assignmentId: String(id), path };
}

describe("the executable as an agent", () => {
  test("without the server it heals by the last answer, and reports when the server is back", async () => {
    const agent = await withScratchStore();
    await installation.stop();
    writeFileSync(agent.path, "tampered");
    const offline = await agent.once();
    expect(offline).toMatchObject({ code: 1, stderr: expect.stringContaining(`${installation.url} cannot be reached`) });
    expect(readFileSync(agent.path, "utf8")).toBe(authority.root.pem);
    await installation.restart();
    expect((await agent.read(agent.assignmentId)).report.state).toBe("installed");
    expect((await agent.once()).code).toBe(0);
    const { report, history } = await agent.read(agent.assignmentId);
    expect([report.state, ...statesOf(history)]).toEqual(["installed", "installed", "drifted", "installed"]);
    expect(history[1].message).toBe("Found and healed: root.pem holds something else");
  });

  test("whose agent was deleted removes nothing, and says so", async () => {
    const agent = await withScratchStore();
    await installation.get("DELETE", `{org}/agents/${agent.id}`);
    const { code, stdout, stderr } = await agent.once();
    expect([code, stderr]).toEqual([1, expect.stringContaining("does not accept the agent's token (401). Was the agent deleted? Enrol it again.")]);
    expect(readFileSync(agent.path, "utf8")).toBe(authority.root.pem);
    expect(stdout + stderr).not.toContain(agent.token);
  });

  test("goes on until SIGTERM, heals at every pass, and lets no other agent into its directory", async () => {
    const agent = await withScratchStore();
    const loop = agent.start("--interval", "1s");
    await loop.says("agent started");
    for (const count of [1, 2]) {
      rmSync(agent.path);
      await loop.says("healed", count);
      expect(readFileSync(agent.path, "utf8")).toBe(authority.root.pem);
    }
    expect(await agent.once()).toMatchObject({ code: 1, stderr: expect.stringContaining("is in use by another certitude. Stop that one first") });
    await agent.change(agent.assignmentId, { enabled: false });
    await loop.says("removed");
    expect(existsSync(agent.path)).toBe(false);
    expect(await loop.stop("SIGTERM")).toEqual({ code: 0, stderr: "" });
    expect((await agent.once()).code).toBe(0);
    const { history } = await agent.read(agent.assignmentId);
    expect(new Set(statesOf(history))).toEqual(new Set(["installed", "drifted", "removed"]));
    expect(JSON.stringify(loop.lines)).not.toContain(agent.token);
  });

  test("--dry-run says what would be done, and does and reports nothing, with or without a state directory", async () => {
    const agent = await withScratchStore();
    rmSync(agent.path);
    const fresh = agent.pathOf("fresh");
    const before = { files: stateOf(agent.pathOf()), report: (await agent.read(agent.assignmentId)).report };
    for (const directory of [agent.pathOf("state"), fresh]) {
      const { code, stdout, stderr } = await agent.once("--dry-run", "--state-dir", directory);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain('"differences":["root.pem is missing"]');
      expect(stdout).toContain("would install or verify");
    }
    await agent.change(agent.assignmentId, { enabled: false });
    expect((await agent.once("--dry-run")).stdout).toContain("would remove");
    expect({ files: stateOf(agent.pathOf()), report: (await agent.read(agent.assignmentId)).report }).toEqual(before);
    expect(existsSync(fresh)).toBe(false);
  });

  test("ends with 2 and a sentence for a wrong usage, which never shows the token", async () => {
    const agent = await installation.enrol();
    const wrong = usageFaults(agent);
    for (const [args, words] of wrong) {
      const { code, stdout, stderr } = await run(agent.host, "agent", "--once", ...args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(words)]);
      expect(stdout + stderr).not.toContain(agent.token.slice(4));
    }
    expect(existsSync(agent.pathOf("state"))).toBe(false);
  });
});

function usageFaults({ pathOf, token }: InstalledAgent): [string[], string][] {
  const server = ["--server", installation.url];
  const tokenFile = ["--token-file", pathOf("token")];
  writeFileSync(pathOf("open"), token, { mode: 0o644 });
  chmodSync(pathOf("open"), 0o644);
  writeFileSync(pathOf("other"), `${token}x`, { mode: 0o600 });
  return [
    [tokenFile, "--server <url>"],
    [server, "--token-file <path>"],
    [["--server", "http://certitude.example", ...tokenFile], "http would show the token and private keys to the network: use https."],
    [["--server", "http://localhost.certitude.example", ...tokenFile], "use https."],
    [["--server", "certitude.example", ...tokenFile], "It must be an address such as https://certitude.example."],
    [["--server", "ftp://certitude.example", ...tokenFile], "It must be an address such as"],
    [["--server", "https://ada:secret@certitude.example", ...tokenFile], "It must name a server and nothing else"],
    [[...server, "--token-file", pathOf("missing")], "--token-file cannot be read: ENOENT"],
    [[...server, "--token-file", pathOf()], "--token-file cannot be read: EISDIR"],
    [[...server, "--token-file", pathOf("open")], `Others may read the token in ${pathOf("open")}: chmod 600`],
    [[...server, "--token-file", pathOf("other")], "does not hold an agent's token; it begins with cag_."],
    [[...server, ...tokenFile, "--ca-file", pathOf("missing")], "--ca-file cannot be read: ENOENT"],
    [[...server, ...tokenFile, "--interval", "soon"], "It must be a duration"],
    [[...server, ...tokenFile, "--interval", "2d"], "It must be at most a day"],
    [[...server, ...tokenFile, "--coffee"], "unknown option '--coffee'"],
  ];
}
