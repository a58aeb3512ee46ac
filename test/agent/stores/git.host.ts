import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, contentOf, runs, serveRepository, trusts } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

type Repository = Awaited<ReturnType<typeof serveRepository>>;
let parties: Parties & { [each in "private" | "public" | "closed"]: Repository };
beforeAll(async () => {
  const made = await newParties();
  const [ours, known] = await Promise.all([made.authority.issueServer("git.test"), made.known.issueServer("git.test")]);
  const [open, common, closed] = await Promise.all([serveRepository(ours), serveRepository(known), serveRepository(known, made.authority.root.pem)]);
  parties = { ...made, private: open, public: common, closed };
});
afterAll(async () => {
  await Promise.all([parties.private.stop(), parties.public.stop(), parties.closed.stop()]);
  await parties.end();
});

const configOf = ({ pathOf }: AgentHost) => pathOf("etc/gitconfig");

/** A scratch host whose git is configured for the whole system by a file of its own. */
async function newGitHost() {
  const agent = await newKnowingHost(parties);
  agent.host.environment.GIT_CONFIG_SYSTEM = configOf(agent);
  return agent;
}
const environmentOf = (agent: AgentHost) => ({ GIT_CONFIG_SYSTEM: configOf(agent), HOME: agent.pathOf("home") });
const listRemote = (agent: AgentHost, url: string) => trusts(["/usr/bin/git", "ls-remote", "--exit-code", url], environmentOf(agent));
const optionsOf = async (agent: AgentHost) => (await runs(["/usr/bin/git", "config", "--system", "--list"], environmentOf(agent))).stdout.trim().split("\n");
const anchor = (config: Desired["config"] = {}) => desired(parties.authority.root, { trustStoreType: "git_http_sslcainfo", config });

describe("git_http_sslcainfo", () => {
  const repositoryFor = (url: string) => (url === parties.server.url ? parties.private.url : parties.public.url);

  testBehaviour("http.sslCAInfo", () => parties, {
    storeType: "git_http_sslcainfo",
    begin: newGitHost,
    config: () => ({}),
    prepare: (agent) => put(configOf(agent), "# mine\n[user]\n\tname = A\n"),
    isTrusting: (agent, url) => listRemote(agent, repositoryFor(url)),
    keepsRoots: true,
    spoil: (agent) => [configOf(agent), `${configOf(agent)}.git_http_sslcainfo.pem`],
    elsewhere: ({ pathOf }) => ({ trustStorePath: pathOf("a place/git.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("a place/git.pem")) && !existsSync(`${pathOf("etc/gitconfig")}.git_http_sslcainfo.pem`),
  });

  testBehaviour("the system's store", () => parties, {
    storeType: "git_http_sslcainfo",
    begin: newGitHost,
    config: () => ({ preferOsStore: true }),
    isTrusting: (agent, url) => listRemote(agent, repositoryFor(url)),
    keepsRoots: true,
    spoil: (agent) => [configOf(agent)],
    elsewhere: () => ({}),
    isElsewhere: ({ files }) => !files().some((name) => /^anchors\/certitude/.test(name)),
  });

  test("drifted: a value that was replaced is put back", async () => {
    const agent = await newGitHost();
    const item = anchor();
    await agent.pass(item);
    await runs(["/usr/bin/git", "config", "--system", "http.sslCAInfo", "/etc/other.pem"], environmentOf(agent));
    expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("does not set http.sslCAInfo") });
    expect(await listRemote(agent, parties.private.url)).toBe(true);
    agent.remove();
  });

  test("failed: another's setting stays as it is; one of the bundle that the config names is used, and stays", async () => {
    const agent = await newGitHost();
    const bundle = agent.pathOf("etc/corporate.pem");
    put(bundle, parties.known.root.pem);
    put(configOf(agent), `[http]\n\tsslCAInfo = ${bundle}\n`);
    const before = contentOf(agent);
    expect(await agent.pass(anchor())).toMatchObject({ state: "failed", message: expect.stringContaining("and not by this agent") });
    expect(contentOf(agent)).toEqual(before);
    const item = anchor({ trustStorePath: bundle });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await listRemote(agent, parties.private.url)).toBe(true);
    expect(readFileSync(bundle, "utf8")).not.toContain("public roots");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("two assignments share the setting; another that wants another file is refused; what others set later stays", async () => {
    const agent = await newGitHost();
    const items = [anchor(), desired(parties.authority.intermediate, { trustStoreType: "git_http_sslcainfo", materialType: "intermediate_ca" })] as const;
    for (const each of items) expect(await agent.pass(each)).toMatchObject({ state: "installed" });
    expect(await agent.pass(anchor({ trustStorePath: agent.pathOf("else.pem") }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("for another assignment on this host"),
    });
    await runs(["/usr/bin/git", "config", "--system", "http.proxy", "http://proxy.test"], environmentOf(agent));
    await agent.withdraw(items[0]);
    expect(await agent.pass(items[1])).toMatchObject({ state: "installed" });
    expect(await optionsOf(agent)).toContain(`http.sslcainfo=${configOf(agent)}.git_http_sslcainfo.pem`);
    await agent.withdraw(items[1]);
    expect(await optionsOf(agent)).toEqual(["http.proxy=http://proxy.test"]);
    expect(agent.files().filter((name) => name.startsWith("etc/"))).toEqual(["etc/gitconfig"]);
    agent.remove();
  });

  test("a client certificate with its key; without the key, the operator's", async () => {
    const agent = await newGitHost();
    const client = await parties.authority.issueServer("client.test");
    writeFileSync(agent.pathOf("known.pem"), parties.known.root.pem);
    const environment = { ...environmentOf(agent), GIT_SSL_CAINFO: agent.pathOf("known.pem") };
    const isLetIn = async () => (await runs(["/usr/bin/git", "ls-remote", "--exit-code", parties.closed.url], environment)).isGood;
    expect(await isLetIn()).toBe(false);
    const before = contentOf(agent);
    const item = desiredServer(client, { trustStoreType: "git_http_sslcainfo", materialType: "client_certificate", config: { alias: "corp" } });
    expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: client.fingerprint });
    expect(await isLetIn()).toBe(true);
    expect(statSync(agent.pathOf("home/.gitconfig.d/corp.key")).mode & 0o777).toBe(0o600);
    // git of other users finds nothing of it in the system's settings.
    expect((await runs(["/usr/bin/git", "config", "--system", "--list"], environmentOf(agent))).stdout).not.toContain("ssl");
    const after = contentOf(agent);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    expect(await isLetIn()).toBe(false);

    const keyless = {
      ...item,
      id: crypto.randomUUID(),
      includePrivateKey: false,
      privateKeyPem: null,
      config: { trustStorePath: agent.pathOf("pki"), keyFileName: "mine.key" },
    };
    expect(await agent.pass(keyless)).toMatchObject({ state: "failed", message: expect.stringContaining("mine.key") });
    put(agent.pathOf("pki/mine.key"), client.privateKeyPem);
    expect(await agent.pass(keyless)).toMatchObject({ state: "installed" });
    expect(await isLetIn()).toBe(true);
    await agent.withdraw(keyless);
    expect(readFileSync(agent.pathOf("pki/mine.key"), "utf8")).toBe(client.privateKeyPem);
    agent.remove();
  });

  test("failed: a client certificate that git does not take, for settings that the user includes name another", async () => {
    const agent = await newGitHost();
    const client = await parties.authority.issueServer("client.test");
    put(agent.pathOf("home/more"), "[http]\n\tsslCert = /elsewhere.pem\n");
    put(agent.pathOf("home/.gitconfig"), `[certitude]\n\tnote = kept\n[http]\n\tproxy =\n[include]\n\tpath = ${agent.pathOf("home/more")}\n`);
    const before = contentOf(agent);
    const item = desiredServer(client, { trustStoreType: "git_http_sslcainfo", materialType: "client_certificate", config: { alias: "corp" } });
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("git takes ‹/elsewhere.pem› as http.sslCert, not ") });
    expect(contentOf(agent)).toEqual(before);
    writeFileSync(agent.pathOf("home/more"), "");
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("failed: for another account than the agent's own, it says what to do", async () => {
    const agent = await newGitHost();
    expect(await agent.pass(anchor({ dbUser: "ada" }))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(
        /^config\.dbUser does not apply to git_http_sslcainfo\. .*run an agent as the other account, and assign it to that one\.$/,
      ),
    });
    agent.remove();
  });

  test("failed: without git nothing is written", async () => {
    const agent = await newGitHost();
    const before = contentOf(agent);
    const host = { ...agent.host, environment: { ...agent.host.environment, PATH: agent.pathOf("nothing") } };
    expect(await agent.pass(anchor(), { host })).toMatchObject({ state: "failed", message: expect.stringContaining("git is not installed on this host") });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });
});
