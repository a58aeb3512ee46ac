import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { certificatesIn, fingerprintOf } from "#agent/host/pem";
import type { Desired } from "#agent/server-client";
import { desired, newAgentHost, withScratchSystem } from "../../support/agent/agent-host";
import { newAuthority, serveTls } from "../../support/pki/authority";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let other: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  [authority, other] = await Promise.all([newAuthority(), newAuthority()]);
});
afterAll(() => {
  authority.remove();
  other.remove();
});

const scratch = () => newAgentHost(withScratchSystem);
type Agent = Awaited<ReturnType<typeof scratch>>;
const anchor = ({ pathOf }: Agent, config: Desired["config"] = { alias: "corp" }) =>
  desired(authority.root, { trustStoreType: "linux_update_ca_certificates", config: { trustStorePath: pathOf("anchors"), ...config } });
const bundleHolds = (bundle: string, fingerprint: string) => certificatesIn(readFileSync(bundle, "utf8")).some((each) => fingerprintOf(each) === fingerprint);
const installed = () => ({ state: "installed" as const, observedFingerprint: authority.root.fingerprint });

describe("linux_update_ca_certificates", () => {
  test("failed: a path that the tool does not read, a name that it does not read; nothing is left", async () => {
    const agent = await scratch();
    for (const [config, words] of [
      [{ trustStorePath: agent.pathOf("elsewhere") }, "config.trustStorePath must lie in"],
      [{ certFileName: "corp.pem" }, "config.certFileName must end in .crt"],
    ] as const) {
      const before = agent.files();
      expect(await agent.pass(anchor(agent, config))).toMatchObject({ state: "failed", message: expect.stringContaining(words) });
      expect(agent.files()).toEqual(before);
    }
    agent.remove();
  });

  test("failed: another's file in the place, and a planted link, stay as they are", async () => {
    const agent = await scratch();
    writeFileSync(agent.pathOf("anchors/corp.crt"), other.root.pem);
    expect(await agent.pass(anchor(agent))).toMatchObject({ state: "failed", message: expect.stringContaining("is there already") });
    expect(readFileSync(agent.pathOf("anchors/corp.crt"), "utf8")).toBe(other.root.pem);
    writeFileSync(agent.pathOf("precious"), "precious");
    symlinkSync(agent.pathOf("precious"), agent.pathOf("anchors/linked.crt"));
    expect(await agent.pass(anchor(agent, { alias: "linked" }))).toMatchObject({ state: "failed", message: expect.stringContaining("symbolic link") });
    expect(readFileSync(agent.pathOf("precious"), "utf8")).toBe("precious");
    agent.remove();
  });

  test("installed, then nothing to do; removed, and only that", async () => {
    const agent = await scratch();
    writeFileSync(agent.pathOf("anchors/other.crt"), other.root.pem);
    const item = anchor(agent);
    expect(await agent.pass(item)).toEqual(installed());
    expect(bundleHolds(agent.host.system.bundle, authority.root.fingerprint)).toBe(true);
    const files = agent.files();
    expect(await agent.pass(item)).toEqual(installed());
    expect(agent.files()).toEqual(files);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(bundleHolds(agent.host.system.bundle, authority.root.fingerprint)).toBe(false);
    expect(bundleHolds(agent.host.system.bundle, other.root.fingerprint)).toBe(true);
    expect(agent.files().filter((each) => /corp|tmp/.test(each))).toEqual([]);
    agent.remove();
  });

  test("drifted: a file that was replaced or removed, and a bundle that was made without it, are healed", async () => {
    const agent = await scratch();
    const item = anchor(agent);
    await agent.pass(item);
    const tamper = [
      () => rmSync(agent.pathOf("anchors/corp.crt")),
      () => writeFileSync(agent.pathOf("anchors/corp.crt"), other.root.pem),
      () => writeFileSync(agent.host.system.bundle, other.root.pem),
    ];
    for (const each of tamper) {
      each();
      expect(await agent.pass(item)).toMatchObject({
        state: "drifted",
        observedFingerprint: authority.root.fingerprint,
        message: expect.stringContaining("Found and healed:"),
      });
      expect(bundleHolds(agent.host.system.bundle, authority.root.fingerprint)).toBe(true);
      expect(await agent.pass(item)).toEqual(installed());
    }
    agent.remove();
  });

  test("what was there before the agent is taken over, and stays when the assignment goes", async () => {
    const agent = await scratch();
    writeFileSync(agent.pathOf("anchors/corp.crt"), authority.root.pem);
    await Bun.$`${agent.host.system.update}`.quiet();
    const item = anchor(agent);
    expect(await agent.pass(item)).toEqual(installed());
    expect(await agent.withdraw(item)).toMatchObject({ state: "kept", message: expect.stringContaining("left it there") });
    expect(bundleHolds(agent.host.system.bundle, authority.root.fingerprint)).toBe(true);
    agent.remove();
  });

  test("another alias moves it; the reload runs, and one that fails takes everything back", async () => {
    const agent = await scratch();
    const item = anchor(agent);
    await agent.pass(item);
    const moved = { ...item, version: 2, config: { ...item.config, alias: "renamed", reloadCommand: ["touch", agent.pathOf("reloaded")] } };
    expect(await agent.pass(moved)).toEqual(installed());
    expect(agent.files().filter((each) => /^anchors|reloaded/.test(each))).toEqual(["anchors/renamed.crt", "reloaded"]);
    const failing = { ...item, version: 3, config: { ...item.config, alias: "third", reloadCommand: ["false"] } };
    expect(await agent.pass(failing)).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^false ended with exit code 1.*Rolled back/),
    });
    expect(agent.files().filter((each) => each.startsWith("anchors"))).toEqual(["anchors/renamed.crt"]);
    expect(agent.files().filter((each) => each.includes("third"))).toEqual([]);
    expect(bundleHolds(agent.host.system.bundle, authority.root.fingerprint)).toBe(true);
    agent.remove();
  });

  test("verified against a server of the authority; against another's it is rolled back", async () => {
    const agent = await scratch();
    const [good, foreign] = await Promise.all([authority.issueServer("good.test").then(serveTls), other.issueServer("foreign.test").then(serveTls)]);
    const verified = (port: number, verifyServerName: string) => anchor(agent, { alias: "corp", verifyEndpoint: `tls://127.0.0.1:${port}`, verifyServerName });
    expect(await agent.pass(verified(foreign.port, "foreign.test"))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/is not trusted by what is in the store.*Rolled back/),
    });
    expect(agent.files().filter((each) => each.startsWith("anchors"))).toEqual([]);
    expect(await agent.pass(verified(good.port, "wrong.test"))).toMatchObject({ state: "failed" });
    expect(await agent.pass(verified(good.port, "good.test"))).toEqual(installed());
    await Promise.all([good.stop(), foreign.stop()]);
    agent.remove();
  });

  test("drifted, and put back, while the endpoint is away; failed, and put back too, where it shows another authority's certificate", async () => {
    const agent = await scratch();
    const [good, foreign] = await Promise.all([authority.issueServer("good.test").then(serveTls), other.issueServer("good.test").then(serveTls)]);
    let port = good.port;
    const relay = createServer((near) => {
      if (port === 0) return near.destroy();
      const far = connect(port, "127.0.0.1").on("error", () => near.destroy());
      near
        .on("error", () => far.destroy())
        .pipe(far)
        .pipe(near);
    });
    await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
    const verifyEndpoint = `tls://127.0.0.1:${(relay.address() as { port: number }).port}`;
    const item = anchor(agent, { alias: "corp", verifyEndpoint, verifyServerName: "good.test" });
    expect(await agent.pass(item)).toEqual(installed());
    const tamper = () => writeFileSync(agent.pathOf("anchors/corp.crt"), other.root.pem);
    const isBack = () => [readFileSync(agent.pathOf("anchors/corp.crt"), "utf8"), bundleHolds(agent.host.system.bundle, authority.root.fingerprint)];
    tamper();
    port = 0;
    expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringMatching(/put back, but not verified: .* cannot be verified: /) });
    expect(isBack()).toEqual([authority.root.pem, true]);
    tamper();
    port = foreign.port;
    expect(await agent.pass(item)).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/is not trusted by what is in the store: .*What was verified before was put back\.$/),
    });
    expect(isBack()).toEqual([authority.root.pem, true]);
    port = good.port;
    expect(await agent.pass(item)).toEqual(installed());
    await Promise.all([good.stop(), foreign.stop()]);
    await new Promise<void>((resolve) => relay.close(() => resolve()));
    agent.remove();
  });
});
