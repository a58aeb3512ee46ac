import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { argvOf, permittedCall } from "#agent/host/arguments";
import { runProgram } from "#agent/host/program";
import type { Desired } from "#agent/server-client";
import { desired, newAgentHost, withScratchSystem } from "../support/agent/agent-host";
import { watchAnchors } from "../support/agent/hostile-machine";
import { stateOf } from "../support/agent/observing";
import { newAuthority } from "../support/pki/authority";
import { runs } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let operators: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  [authority, operators] = await Promise.all([newAuthority(), newAuthority()]);
});
afterAll(() => {
  authority.remove();
  operators.remove();
});

/** A system whose bundle was made once, with whatever `prepare` has put there before. */
async function newSystem(prepare: (pathOf: (...names: string[]) => string) => unknown = () => {}) {
  const agent = await newAgentHost(withScratchSystem);
  await prepare(agent.pathOf);
  await runProgram(agent.host, argvOf(agent.host.system.update, "--fresh"));
  return agent;
}
type Agent = Awaited<ReturnType<typeof newSystem>>;

const anchor = ({ pathOf }: Agent, config: Desired["config"], rest: Partial<Desired> = {}) =>
  desired(authority.root, { trustStoreType: "linux_update_ca_certificates", config: { trustStorePath: pathOf("anchors"), ...config }, ...rest });
const placesOf = ({ directory }: Agent) => stateOf(directory, (name) => /^(anchors|certs|certs2)(\/|$)/.test(name));
const failed = (...words: string[]) => ({ state: "failed" as const, message: expect.stringContaining(words.join("")) });

describe("an anchor of the system's store", () => {
  test("replaces no file of the host among the system's certificates, and no link of another owner's", async () => {
    const agent = await newSystem((pathOf) => writeFileSync(pathOf("anchors/theirs_too.crt"), operators.intermediate.pem));
    writeFileSync(agent.pathOf("certs/operator.pem"), operators.root.pem);
    symlinkSync(agent.pathOf("elsewhere"), agent.pathOf("certs/linked.pem"));
    const before = placesOf(agent);
    for (const alias of ["operator", "linked", "public", "theirs_too"]) {
      const item = anchor(agent, { alias, trustStorePath: agent.pathOf("anchors/sub") });
      expect(await agent.pass(item)).toMatchObject(
        failed(`certs/${alias}.pem is there already, and does not lead to `, agent.pathOf(`anchors/sub/${alias}.crt`)),
      );
      expect(placesOf(agent)).toEqual(before);
      expect(await agent.withdraw(item)).toMatchObject({ state: "removed" });
      expect(placesOf(agent)).toEqual(before);
    }
    agent.remove();
  });

  test("has its own link: healed, moved, installed again, and gone with it", async () => {
    const agent = await newSystem();
    const before = placesOf(agent);
    const item = anchor(agent, { alias: "corp" });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(readlinkSync(agent.pathOf("certs/corp.pem"))).toBe(agent.pathOf("anchors/corp.crt"));
    rmSync(agent.pathOf("anchors/corp.crt"));
    expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
    expect(await agent.pass({ ...item, version: 2, config: { ...item.config, trustStorePath: agent.pathOf("anchors/sub") } })).toMatchObject({
      state: "installed",
    });
    expect(readlinkSync(agent.pathOf("certs/corp.pem"))).toBe(agent.pathOf("anchors/sub/corp.crt"));
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(placesOf(agent)).toEqual(before);
    agent.remove();
  });

  test("of two with one name, in two directories, the second is refused until the first has gone", async () => {
    const agent = await newSystem();
    const [first, second] = ["one", "two"].map((name) => anchor(agent, { alias: "corp", trustStorePath: agent.pathOf("anchors", name) }));
    if (!first || !second) throw new Error("there are two");
    expect(await agent.passAll([first, second])).toMatchObject([
      { state: "installed" },
      failed("certs/corp.pem belongs to another assignment on this host. Choose another alias."),
    ]);
    expect(readlinkSync(agent.pathOf("certs/corp.pem"))).toBe(agent.pathOf("anchors/one/corp.crt"));
    await agent.withdraw(first);
    expect(await agent.pass(second)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test.each(["*", "a b", "[a-z]*", "a;b", "$(id)", ".x", "-x"])("is not called %j", async (alias) => {
    const agent = await newSystem();
    const before = placesOf(agent);
    expect(await agent.pass(anchor(agent, { alias }))).toMatchObject(failed("config.alias must be one plain name"));
    expect(await agent.pass(anchor(agent, { certFileName: `${alias}.crt` }))).toMatchObject(failed("config.certFileName must be one plain name"));
    expect(placesOf(agent)).toEqual(before);
    agent.remove();
  });

  test("which an earlier release has called * is removed alone, where update-ca-certificates lets the shell expand it", async () => {
    const agent = await newSystem();
    const script = readFileSync("/usr/sbin/update-ca-certificates", "utf8").replaceAll('rm -f "$symlink"', "rm -f $symlink");
    expect(script).toContain("rm -f $symlink;;");
    writeFileSync(agent.pathOf("older"), script);
    chmodSync(agent.pathOf("older"), 0o755);
    agent.host.system.update = permittedCall([agent.pathOf("older"), ...agent.host.system.update.slice(1)]);
    const item = anchor(agent, { alias: "star" });
    await agent.pass(item);
    renameSync(agent.pathOf("anchors/star.crt"), agent.pathOf("anchors/*.crt"));
    rmSync(agent.pathOf("certs/star.pem"));
    symlinkSync(agent.pathOf("anchors/*.crt"), agent.pathOf("certs/*.pem"));
    const record = agent.pathOf("state/assignments", `${item.id}.json`);
    writeFileSync(record, readFileSync(record, "utf8").replaceAll("star", "*"));
    await agent.restart();
    writeFileSync(agent.pathOf("certs/operator.pem"), operators.root.pem);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(readFileSync(agent.pathOf("certs/operator.pem"), "utf8")).toBe(operators.root.pem);
    expect([readdirSync(agent.pathOf("anchors")), readdirSync(agent.pathOf("certs")).includes("*.pem")]).toEqual([[], false]);
    agent.remove();
  });
});

describe("an anchor of a directory for OpenSSL", () => {
  async function begin() {
    const agent = await newAgentHost();
    mkdirSync(agent.pathOf("certs"));
    writeFileSync(agent.pathOf("certs/theirs.pem"), operators.root.pem);
    await runs(["openssl", "rehash", agent.pathOf("certs")]);
    return agent;
  }
  const item = ({ pathOf }: Agent) => desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: pathOf("certs"), alias: "corp" } });

  test("comes to no directory with a link of another owner's that rehash would remove, or a file that it would replace", async () => {
    const { stdout: hash } = await runs(["sh", "-c", `printf %s '${authority.root.pem}' | openssl x509 -hash -noout`]);
    for (const put of [
      (agent: Agent) => symlinkSync(agent.pathOf("elsewhere"), agent.pathOf("certs/deadbeef.0")),
      (agent: Agent) => symlinkSync("../elsewhere", agent.pathOf("certs/deadbeef.r0")),
      (agent: Agent) => symlinkSync("theirs.txt", agent.pathOf("certs/deadbeef.0")),
      (agent: Agent) => writeFileSync(agent.pathOf("certs", `${hash.trim()}.0`), operators.intermediate.pem),
    ]) {
      const agent = await begin();
      for (const name of ["elsewhere", "certs/theirs.txt"]) writeFileSync(agent.pathOf(name), operators.intermediate.pem);
      put(agent);
      const before = placesOf(agent);
      expect(await agent.pass(item(agent))).toMatchObject(failed("is no link to a certificate in its own directory, and openssl rehash may remove it"));
      expect(placesOf(agent)).toEqual(before);
      agent.remove();
    }
  });

  test("goes without rehash where there is such a link by then, and that stays", async () => {
    const agent = await begin();
    const before = placesOf(agent);
    const wanted = item(agent);
    expect(await agent.pass(wanted)).toMatchObject({ state: "installed" });
    writeFileSync(agent.pathOf("elsewhere"), operators.intermediate.pem);
    symlinkSync(agent.pathOf("elsewhere"), agent.pathOf("certs/deadbeef.0"));
    expect(await agent.withdraw(wanted)).toEqual({ state: "removed" });
    expect(lstatSync(agent.pathOf("certs/deadbeef.0")).isSymbolicLink()).toBe(true);
    rmSync(agent.pathOf("certs/deadbeef.0"));
    expect(placesOf(agent)).toEqual(before);
    agent.remove();
  });
});

test("on a machine of its own, the real tool and Java's hook leave the operator's file and entry as they were", async () => {
  const { file, entry, free } = await watchAnchors();
  expect(file).toEqual({ result: failed("/etc/ssl/certs/operator.pem is there already"), isKept: true, anchors: [] });
  expect(entry).toEqual({ result: failed("/etc/ssl/certs/java/cacerts holds another certificate as debian:entry.pem"), isKept: true, anchors: [] });
  expect(free).toEqual({ result: { state: "installed", observedFingerprint: expect.any(String) }, isKept: true, anchors: ["free.crt"] });
});
