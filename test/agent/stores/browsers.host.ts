import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { desired, newAgentHost } from "../../support/agent/agent-host";
import { newParties } from "../../support/agent/store-behaviour";
import { chromiumTrusts, firefoxTrusts, newProfile } from "../../support/pki/browsers";
import { runs } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const parties = await newParties();
const { authority, known, server, knownServer } = parties;
afterAll(() => parties.end());

/** The machine's own places, where its browsers look, are as before after each test. */
const PLACES = ["/etc/firefox/policies", "/etc/chromium/policies/managed/certitude.json", "/etc/chromium/policies/managed/theirs.json"];
const missing = PLACES.filter((each) => !existsSync(each));
afterEach(() => {
  for (const each of missing) rmSync(each, { recursive: true, force: true });
});

describe("chrome_policy", () => {
  const item = (config = {}) => desired(authority.root, { trustStoreType: "chrome_policy", config });

  test("Chromium refuses before and trusts after, drift is healed, another owner's entry stays, and nothing of ours is left", async () => {
    const agent = await newAgentHost();
    const managed = "/etc/chromium/policies/managed";
    const file = join(managed, "certitude.json");
    const listed = item({ trustStorePath: managed });
    expect(await chromiumTrusts(server.url)).toBe(false);
    expect(await agent.pass(listed)).toMatchObject({ state: "installed" });
    expect(await chromiumTrusts(server.url)).toBe(true);
    for (const spoil of [() => rmSync(file), () => writeFileSync(file, '{"CACertificates": []}\n')]) {
      spoil();
      expect(await agent.pass(listed)).toMatchObject({ state: "drifted" });
    }
    const second = desired(known.root, { trustStoreType: "chrome_policy", config: { trustStorePath: managed } });
    expect(await agent.pass(second)).toMatchObject({ state: "installed" });
    expect([await chromiumTrusts(server.url), await chromiumTrusts(knownServer.url)]).toEqual([true, true]);
    expect(await agent.withdraw(listed)).toEqual({ state: "removed" });
    expect([await chromiumTrusts(server.url), await chromiumTrusts(knownServer.url)]).toEqual([false, true]);
    expect(await agent.withdraw(second)).toEqual({ state: "removed" });
    agent.remove();
  });

  test("what others have in the file stays to the byte; another file with the same policy is refused, as is what is not JSON", async () => {
    const agent = await newAgentHost();
    const managed = agent.pathOf("managed");
    mkdirSync(managed);
    const theirs = '{\n\t"HomepageLocation": "https://intranet.example",\n\t"CACertificates": [\n\t\t"MIIB"\n\t]\n}';
    writeFileSync(join(managed, "theirs.json"), theirs);
    expect(await agent.pass(item({ trustStorePath: managed }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("theirs.json› sets CACertificates too, and the browser takes the list of one file alone"),
    });
    const shared = item({ trustStorePath: managed, certFileName: "theirs.json" });
    expect(await agent.pass(shared)).toMatchObject({ state: "installed" });
    expect(JSON.parse(readFileSync(join(managed, "theirs.json"), "utf8")).CACertificates).toHaveLength(2);
    expect(await agent.withdraw(shared)).toEqual({ state: "removed" });
    expect(readFileSync(join(managed, "theirs.json"), "utf8")).toBe(theirs);
    writeFileSync(join(managed, "certitude.json"), "{");
    expect(await agent.pass(item({ trustStorePath: managed }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("certitude.json is not JSON"),
    });
    agent.remove();
  });
});

describe("firefox_policy", () => {
  test("Firefox refuses before and trusts after, drift is healed; kept, while a profile still holds it; others' policies stay", async () => {
    const agent = await newAgentHost();
    const file = "/etc/firefox/policies/policies.json";
    const theirs = '{\n  "policies": {\n    "DisableTelemetry": true\n  }\n}\n';
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, theirs);
    const profiles = join(agent.host.home, ".mozilla/firefox");
    const trusts = async (name: string) => {
      newProfile(join(profiles, name));
      return firefoxTrusts(join(profiles, name), server.url, agent.host.home);
    };
    const item = desired(authority.root, { trustStoreType: "firefox_policy", config: { alias: "corp" } });
    expect(await trusts("one")).toBe(false);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await trusts("two")).toBe(true);
    const after = readFileSync(file, "utf8");
    for (const spoil of [() => rmSync(join(dirname(file), "corp.pem")), () => writeFileSync(file, theirs)]) {
      spoil();
      expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
      expect(readFileSync(file, "utf8")).toBe(after);
    }
    expect(await agent.withdraw(item)).toMatchObject({ state: "kept", message: expect.stringContaining(`${join(profiles, "two")}› holds it`) });
    expect(readFileSync(file, "utf8")).toBe(theirs);
    expect(readdirSync(dirname(file))).toEqual(["policies.json"]);
    expect(await trusts("three")).toBe(false);
    agent.remove();
  });
});

describe("nss_firefox_profile", () => {
  test("Firefox by the profile that profiles.ini names refuses before and trusts after; healed; refuses again once it is withdrawn", async () => {
    const agent = await newAgentHost();
    const root = join(agent.host.home, ".mozilla/firefox");
    const profile = join(root, "abc.default-esr");
    newProfile(profile);
    writeFileSync(
      join(root, "profiles.ini"),
      "[Install3]\nDefault=abc.default-esr\nLocked=1\n\n[Profile1]\nName=other\nIsRelative=1\nPath=other\nDefault=1\n\n[Profile0]\nName=d\nIsRelative=1\nPath=abc.default-esr\n",
    );
    const item = desired(authority.root, { trustStoreType: "nss_firefox_profile", config: { alias: "corp" } });
    const trusts = () => firefoxTrusts(profile, server.url, agent.host.home);
    expect(await trusts()).toBe(false);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await trusts()).toBe(true);
    await runs(["certutil", "-d", `sql:${profile}`, "-D", "-n", "corp"]);
    expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await trusts()).toBe(false);
    const other = await newAgentHost();
    expect(await other.pass(item)).toMatchObject({
      state: "failed",
      message: expect.stringContaining("has no profile of Firefox or Thunderbird. Let it start once"),
    });
    other.remove();
    agent.remove();
  });
});
