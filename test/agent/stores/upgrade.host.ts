import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { desired, desiredServer } from "../../support/agent/agent-host";
import { layEarlierHost, newUpgradedHost } from "../../support/agent/earlier-agent";
import { passInChild } from "../../support/agent/program-stores";
import { type Issued, newAuthority } from "../../support/pki/authority";
import { contentOf, runs, serveRepository } from "../../support/pki/tls-clients";
import { endServers, startNginx, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

type Repository = Awaited<ReturnType<typeof serveRepository>>;
let authority: Awaited<ReturnType<typeof newAuthority>>;
let client: Issued;
let open: Repository;
let closed: Repository;
beforeAll(async () => {
  authority = await newAuthority();
  client = await authority.issueServer("client.test");
  const server = await authority.issueServer("git.test");
  [open, closed] = await Promise.all([serveRepository(server), serveRepository(server, authority.root.pem)]);
});
afterAll(async () => {
  endServers();
  await Promise.all([open.stop(), closed.stop()]);
  authority.remove();
});

const OTHERS = "# mine\n[user]\n\tname = A\n[http]\n\tproxy = http://proxy.test\n";
const NOBODY = 65_534;

/** A host on which an earlier release has told git of every user of a client certificate whose key is root's. */
async function beginGit(name: "git, in settings of others" | "git, in settings of its own") {
  const item = desiredServer(client, { trustStoreType: "git_http_sslcainfo", materialType: "client_certificate", config: { alias: "corp" } });
  const directory = layEarlierHost(name, item);
  chmodSync(directory, 0o755);
  chmodSync(join(directory, "etc/gitconfig.d/corp.key"), 0o600);
  writeFileSync(join(directory, "root.pem"), authority.root.pem);
  mkdirSync(join(directory, "elsewhere"));
  const agent = await newUpgradedHost(directory);
  const environment = { GIT_CONFIG_SYSTEM: agent.pathOf("etc/gitconfig"), GIT_SSL_CAINFO: agent.pathOf("root.pem"), NO_PROXY: "*" };
  const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const lists = async (before: string[], home: string, { url }: Repository) =>
    (await runs([...before, "git", "ls-remote", "--exit-code", url], { ...environment, HOME: agent.pathOf(home) })).isGood;
  return {
    agent,
    item,
    isLetIn: () => lists([], "home", closed),
    worksForOthers: () => lists(asNobody, "elsewhere", open),
    formerFiles: [agent.pathOf("etc/gitconfig.d/corp.crt"), agent.pathOf("etc/gitconfig.d/corp.key")],
    settings: () => readFileSync(agent.pathOf("etc/gitconfig"), "utf8"),
  };
}

const HERE = ["home/.gitconfig", "home/.gitconfig.d/corp.crt", "home/.gitconfig.d/corp.key", "root.pem"];

describe("git_http_sslcainfo, after an earlier release had set a client certificate for git of every user", () => {
  test("the first pass moves it to the agent's own settings, leaves those of others, and says so; git of others works again", async () => {
    const { agent, item, isLetIn, worksForOthers, formerFiles, settings } = await beginGit("git, in settings of others");
    expect([await isLetIn(), await worksForOthers()]).toEqual([true, false]);
    expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: client.fingerprint });
    expect([await isLetIn(), await worksForOthers()]).toEqual([true, true]);
    expect(settings()).toBe(OTHERS);
    expect(agent.files()).toEqual(["etc/gitconfig", ...HERE]);
    expect(existsSync(agent.pathOf("etc/gitconfig.d"))).toBe(false);
    const [certificate, key] = formerFiles;
    expect(agent.tookAway()).toEqual([
      `http.sslCert=${certificate} in ${agent.pathOf("etc/gitconfig")}`,
      `http.sslKey=${key} in ${agent.pathOf("etc/gitconfig")}`,
      `${certificate}`,
      `${key}`,
    ]);
    const after = contentOf(agent);
    expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: client.fingerprint });
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect([agent.files(), settings()]).toEqual([["etc/gitconfig", "root.pem"], OTHERS]);
    agent.remove();
  });

  test("the file that the earlier release had made goes, with its directory", async () => {
    const { agent, item } = await beginGit("git, in settings of its own");
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(agent.files()).toEqual(HERE);
    expect(existsSync(agent.pathOf("etc"))).toBe(false);
    agent.remove();
  });

  test("desired no more by the first pass: it goes from where the earlier release had put it", async () => {
    const { agent, item, settings } = await beginGit("git, in settings of others");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect([agent.files(), settings()]).toEqual([["etc/gitconfig", "root.pem"], OTHERS]);
    expect(agent.tookAway()).toHaveLength(4);
    agent.remove();
  });

  test("failed: a first pass whose reload fails leaves everything as it was, to the byte", async () => {
    const { agent, item } = await beginGit("git, in settings of others");
    const before = contentOf(agent);
    const failing = { ...item, version: 2, config: { ...item.config, reloadCommand: ["false"] } };
    expect(await agent.pass(failing)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back: the store is as it was.") });
    expect(contentOf(agent)).toEqual(before);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("what another program has put in the place of its certificate since stays", async () => {
    const { agent, item, formerFiles } = await beginGit("git, in settings of others");
    writeFileSync(formerFiles[0] ?? "", "theirs");
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(readFileSync(formerFiles[0] ?? "", "utf8")).toBe("theirs");
    agent.remove();
  });

  test.each(["http.sslCert", "certitude.http-sslCert", "http.sslKey", "certitude.http-sslKey"])(
    "killed before it takes %s away, the next agent puts it right",
    async (option) => {
      const { agent, item, worksForOthers, settings } = await beginGit("git, in settings of others");
      const script = `case "$*" in *"--unset-all ${option} "*) kill -9 "$PPID";; esac\nexec /usr/bin/git "$@"`;
      expect(await passInChild(agent, item, "git", script)).toMatchObject({ signal: "SIGKILL" });
      const next = await newUpgradedHost(agent.directory);
      expect(await next.pass(item)).toMatchObject({ state: "installed" });
      expect([next.files().filter((name) => !name.startsWith("bin/")), settings(), await worksForOthers()]).toEqual([["etc/gitconfig", ...HERE], OTHERS, true]);
      next.remove();
    },
  );
});

describe("nginx_tls, after an earlier release had written a root as tls.crt", () => {
  async function beginNginx() {
    const item = desired(authority.root, { trustStoreType: "nginx_tls", config: {} });
    const directory = layEarlierHost("nginx, a root", item);
    const agent = await newUpgradedHost(directory);
    return { agent, item: { ...item, config: { trustStorePath: agent.pathOf("tls"), reloadCommand: ["true"] } } };
  }
  const inOwnFile = ({ id }: { id: string }) => `tls/certitude-${id}.crt`;

  test("the first pass takes it out, puts the root under a name of its own, and says so", async () => {
    const { agent, item } = await beginNginx();
    expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: authority.root.fingerprint });
    expect(agent.files().filter((name) => name.startsWith("tls/"))).toEqual([inOwnFile(item)]);
    expect(agent.tookAway()).toEqual([agent.pathOf("tls/tls.crt")]);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(agent.files().filter((name) => name.startsWith("tls/"))).toEqual([]);
    agent.remove();
  });

  test("a certificate that the operator has put in its place since stays", async () => {
    const { agent, item } = await beginNginx();
    writeFileSync(agent.pathOf("tls/tls.crt"), client.pem);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(readFileSync(agent.pathOf("tls/tls.crt"), "utf8")).toBe(client.pem);
    agent.remove();
  });

  test("failed: while nginx is configured to read it there, it stays; once nginx reads the new name, it goes", async () => {
    const { agent, item } = await beginNginx();
    mkdirSync(agent.pathOf("web/tls"), { recursive: true });
    writePair(agent.pathOf("web/tls/tls.crt"), agent.pathOf("web/tls/tls.key"), await authority.issueServer("good.test"));
    const former = agent.pathOf("tls/tls.crt");
    const server = await startNginx(agent.pathOf("web"), `ssl_verify_client optional; ssl_client_certificate ${former};`);
    const moved = { ...item, version: 2, config: { ...item.config, reloadCommand: server.reloadCommand } };
    expect(await agent.pass(moved)).toMatchObject({ state: "failed", message: expect.stringMatching(/tls\.crt.*Rolled back: the store is as it was/) });
    expect(agent.files().filter((name) => name.startsWith("tls/"))).toEqual(["tls/tls.crt"]);
    writeFileSync(server.config, readFileSync(server.config, "utf8").replace(former, agent.pathOf(inOwnFile(item))));
    expect(await agent.pass(moved)).toMatchObject({ state: "installed" });
    expect(agent.files().filter((name) => name.startsWith("tls/"))).toEqual([inOwnFile(item)]);
    await server.stop();
    agent.remove();
  });
});
