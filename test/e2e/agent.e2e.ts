import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { newAuthority, serveTls } from "../support/authority";
import { run } from "../support/executable";
import { type Installation, type InstalledAgent, newInstallation } from "../support/installation";
import { curl, newAnchor, readOwnStore, rebuildBundle } from "../support/own-store";

setDefaultTimeout(120_000);

type Authority = Awaited<ReturnType<typeof newAuthority>>;
let installation: Installation;
let authority: Authority;
let other: Authority;
let otherRoot: string;
beforeAll(async () => {
  [installation, authority, other] = await Promise.all([newInstallation(), newAuthority(), newAuthority()]);
  otherRoot = await installation.importPem(other.root.pem);
});
afterAll(async () => {
  authority.remove();
  other.remove();
  await installation.remove();
});

const statesOf = (reports: { state: string }[]) => reports.map(({ state }) => state);

/** An agent with a root assigned to a scratch directory, and installed there. */
async function withScratchStore() {
  const agent = await installation.enrol();
  mkdirSync(agent.pathOf("store"));
  const { id } = await agent.assign(otherRoot, {
    trustStoreType: "openssl_ca_dir",
    config: { trustStorePath: agent.pathOf("store"), alias: "root" },
  });
  expect((await agent.once()).code).toBe(0);
  const path = agent.pathOf("store", "root.pem");
  expect(readFileSync(path, "utf8")).toBe(other.root.pem);
  return { ...agent, assignmentId: String(id), path };
}

/** Every file below a directory with what it holds. */
function contentsOf(directory: string) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return Object.fromEntries(files.map(({ parentPath, name }) => [`${parentPath}/${name}`, readFileSync(`${parentPath}/${name}`, "utf8")]));
}

describe("the executable as an agent, and the machine's own trust store", () => {
  const before = readOwnStore();
  const anchor = newAnchor();
  const kept = newAnchor();
  afterAll(async () => {
    await anchor.clear();
    await kept.clear();
    expect(readOwnStore()).toEqual(before);
  });

  test("curl trusts what is assigned, and nothing else; every step is told", async () => {
    const { get, ask, importPem, enrol } = installation;
    const server = await authority.issueServer("good.test").then(serveTls);
    const look = () => curl(server.url, "good.test");
    const agent = await enrol();
    const tags = [(await agent.desired()).etag];
    /** A change that the agent must see: another tag. */
    async function changed(change: Promise<unknown>) {
      await change;
      const { status, etag } = await agent.desired(tags.at(-1));
      expect(status).toBe(200);
      tags.push(etag);
    }
    /** One pass that changes nothing of what is desired, and what the server then knows of the assignment. */
    async function pass() {
      expect(await agent.once()).toMatchObject({ code: 0, stderr: "" });
      expect((await agent.desired(tags.at(-1))).status).toBe(304);
      return (await agent.read(id)).report;
    }
    const installed = { state: "installed", observedFingerprint: authority.root.fingerprint, message: null, reportedAt: expect.any(String) };

    expect(await look()).toBe("refused");
    const certificateId = await importPem(authority.root.pem);
    const assigning = agent.assign(certificateId, { trustStoreType: "linux_update_ca_certificates", config: { alias: anchor.alias } });
    await changed(assigning);
    const id = String((await assigning).id);
    expect((await agent.read(id)).report).toBeNull();
    expect(await pass()).toEqual(installed);
    expect(await look()).toBe("trusted");

    const tamper = [
      () => rmSync(anchor.path),
      () => writeFileSync(anchor.path, other.root.pem),
      async () => {
        renameSync(anchor.path, `${anchor.path}.aside`);
        await rebuildBundle();
        renameSync(`${anchor.path}.aside`, anchor.path);
      },
    ];
    for (const each of tamper) {
      await each();
      expect(await pass()).toEqual({ ...installed, state: "drifted", message: expect.stringContaining("Found and healed:") });
      expect(readFileSync(anchor.path, "utf8")).toBe(authority.root.pem);
      expect(await look()).toBe("trusted");
      expect(await pass()).toEqual(installed);
    }

    await changed(agent.change(id, { enabled: false }));
    expect(await pass()).toEqual({ state: "removed", observedFingerprint: null, message: null, reportedAt: expect.any(String) });
    expect([await look(), existsSync(anchor.path)]).toEqual(["refused", false]);
    await changed(agent.change(id, { enabled: true }));
    expect(await pass()).toEqual(installed);
    expect(await look()).toBe("trusted");
    await changed(get("POST", `{org}/certificates/${certificateId}/revoke`, { reason: "keyCompromise" }));
    expect(await pass()).toMatchObject({ state: "removed" });
    expect([await look(), existsSync(anchor.path)]).toEqual(["refused", false]);

    const said = ["installed", ...tamper.flatMap(() => ["drifted", "installed"]), "removed", "installed", "removed"];
    const newest = said.toReversed();
    expect(statesOf((await agent.read(id)).history)).toEqual(newest);
    expect(statesOf((await get("GET", `${agent.assignments}/${id}/reports?limit=100`)).items)).toEqual(newest);
    const [deployment] = (await get("GET", `/portal{org}/certificates/${certificateId}`)).deployments;
    expect(deployment).toMatchObject({ agentId: agent.id, assignmentId: id, state: "removed" });
    expect(statesOf(deployment.history)).toEqual(newest.slice(0, 5));
    const { items: events } = (await ask("GET", "{org}/audit-events?limit=100")).body;
    const reported = events.filter((each: { action: string; targetId: string }) => each.action === "assignment.reported" && each.targetId === id);
    expect(reported.map((each: { details: { state: string } }) => each.details.state)).toEqual(newest);
    expect(reported[0].actor).toMatchObject({ type: "agent", id: agent.id });
    expect(new Set(tags.slice(1)).size).toBe(tags.length - 1);
    await server.stop();
  });

  test("what says removeOnRevoke: false stays when its certificate is revoked, and goes with its assignment", async () => {
    const third = await newAuthority();
    const server = await third.issueServer("kept.test").then(serveTls);
    const agent = await installation.enrol();
    const certificateId = await installation.importPem(third.root.pem);
    const config = { alias: kept.alias, removeOnRevoke: false };
    const { id } = await agent.assign(certificateId, { trustStoreType: "linux_update_ca_certificates", config });
    expect((await agent.once()).code).toBe(0);
    expect(await curl(server.url, "kept.test")).toBe("trusted");
    const { etag } = await agent.desired();
    await installation.get("POST", `{org}/certificates/${certificateId}/revoke`, { reason: "superseded" });
    expect(await agent.desired(etag)).toMatchObject({ status: 200, body: { items: [], keep: [id] } });
    expect((await agent.once()).code).toBe(0);
    expect(await curl(server.url, "kept.test")).toBe("trusted");
    expect((await agent.read(id)).report).toMatchObject({ state: "installed" });
    await installation.get("DELETE", `${agent.assignments}/${id}`);
    expect((await agent.once()).code).toBe(0); // its report is of an assignment that is gone
    expect(await curl(server.url, "kept.test")).toBe("refused");
    await server.stop();
    third.remove();
  });
});

describe("the executable as an agent", () => {
  test("without the server it heals by what it was told last, and reports when the server is back", async () => {
    const agent = await withScratchStore();
    await installation.stop();
    writeFileSync(agent.path, "tampered");
    const offline = await agent.once();
    expect(offline).toMatchObject({ code: 1, stderr: expect.stringContaining(`${installation.url} cannot be reached`) });
    expect(readFileSync(agent.path, "utf8")).toBe(other.root.pem);
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
    expect([code, stderr]).toEqual([1, expect.stringContaining("does not accept the agent's token (401). Was the agent deleted? Enrol it anew.")]);
    expect(readFileSync(agent.path, "utf8")).toBe(other.root.pem);
    expect(stdout + stderr).not.toContain(agent.token);
  });

  test("goes on until SIGTERM, heals at every pass, and lets no other agent into its directory", async () => {
    const agent = await withScratchStore();
    const loop = agent.start("--interval", "1s");
    await loop.says("the agent starts");
    for (const count of [1, 2]) {
      rmSync(agent.path);
      await loop.says("healed", count);
      expect(readFileSync(agent.path, "utf8")).toBe(other.root.pem);
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
    const before = { files: contentsOf(agent.pathOf()), report: (await agent.read(agent.assignmentId)).report };
    for (const directory of [agent.pathOf("state"), fresh]) {
      const { code, stdout, stderr } = await agent.once("--dry-run", "--state-dir", directory);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain('"faults":["root.pem is missing"]');
      expect(stdout).toContain("would install or verify");
    }
    await agent.change(agent.assignmentId, { enabled: false });
    expect((await agent.once("--dry-run")).stdout).toContain("would remove");
    expect({ files: contentsOf(agent.pathOf()), report: (await agent.read(agent.assignmentId)).report }).toEqual(before);
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
