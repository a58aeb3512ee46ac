import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "../../../src/agent/exchange";
import { desired, desiredServer, newAgentHost } from "../../support/agent-host";
import { newAuthority, serveTls } from "../../support/authority";
import { type AgentHost, contentOf, runs } from "../../support/consumers";
import { newDatabase, ownerOf } from "../../support/nss";

setDefaultTimeout(60_000);

type Authority = Awaited<ReturnType<typeof newAuthority>>;
type Server = Awaited<ReturnType<typeof serveTls>>;
let authority: Authority;
let known: Authority;
/** Of the same name as the first authority, but with another key. */
let namesake: Authority;
let server: Server;
let knownServer: Server;
let namesakeServer: Server;
beforeAll(async () => {
  [authority, known, namesake] = await Promise.all([newAuthority("Corp"), newAuthority(), newAuthority("Corp")]);
  [server, knownServer, namesakeServer] = (await Promise.all(
    [authority, known, namesake].map((each) => each.issueServer("good.test").then((issued) => serveTls(issued))),
  )) as [Server, Server, Server];
});
afterAll(async () => {
  await Promise.all([server, knownServer, namesakeServer].map((each) => each.stop()));
  for (const each of [authority, known, namesake]) each.remove();
});

const PASSWORD = "of the database";
const NOBODY = { uid: 65534, gid: 65534 };

/** An agent whose temporary files have a place of their own; other users may pass through its scratch directory. */
async function newHost(directory?: string) {
  const agent = await newAgentHost((host, place) => {
    mkdirSync(join(place, "tmp"), { recursive: true });
    return { ...host, environment: { ...host.environment, TMPDIR: join(place, "tmp"), DB_PASSWORD: PASSWORD } };
  }, directory);
  chmodSync(agent.directory, 0o711);
  return agent;
}

/** A database of somebody else's, who trusts the known authority. */
async function newKnowing(agent: AgentHost, password = "") {
  const database = await newDatabase(agent.pathOf("db"), password);
  await database.add("known", "C,,", known.root.pem);
  return database;
}

const KNOWN = "known C,,";
const configOf = (agent: AgentHost, more: Desired["config"] = {}) => ({ trustStorePath: agent.pathOf("db"), alias: "corp", ...more });
const item = (agent: AgentHost, certificate: Authority["root"], more: Desired["config"] = {}, rest: Partial<Desired> = {}) =>
  desired(certificate, { trustStoreType: "nss_shared_db", config: configOf(agent, more), ...rest });
const anchor = (agent: AgentHost, more: Desired["config"] = {}) => item(agent, authority.root, more);
const client = (agent: AgentHost, issued: Awaited<ReturnType<Authority["issueServer"]>>, more: Desired["config"] = {}) => ({
  ...desiredServer(issued, { trustStoreType: "nss_shared_db", config: configOf(agent, more) }),
  materialType: "client_certificate" as const,
});
const installed = ({ fingerprintSha256 }: Desired) => ({ state: "installed" as const, observedFingerprint: fingerprintSha256 });
const without = ({ host }: AgentHost) => ({ host: { ...host, environment: { ...host.environment, PATH: "/nonexistent" } } });
const words = (text: string) => ({ state: "failed" as const, message: expect.stringContaining(text) });
const leftIn = (agent: AgentHost) => readdirSync(agent.pathOf("tmp"));

describe("nss_shared_db, anchors", () => {
  test("NSS refuses, trusts once it is installed, and refuses again; nothing is done twice, and what others trust stays", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const corp = anchor(agent, { verifyEndpoint: server.url, verifyServerName: "good.test" });
    expect(await database.trusts(server.port)).toBe(false);
    expect(await agent.pass(corp)).toEqual(installed(corp));
    expect(await database.trusts(server.port)).toBe(true);
    expect(await database.trusts(knownServer.port)).toBe(true);
    const after = contentOf(agent);
    expect(await agent.pass(corp, without(agent))).toEqual(installed(corp)); // and needs no tool for that
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(corp)).toEqual({ state: "removed" });
    expect(await database.trusts(server.port)).toBe(false);
    expect(await database.list()).toEqual([KNOWN]);
    expect(leftIn(agent)).toEqual([]);
    agent.remove();
  });

  test.each([
    ["~/.pki/nssdb, which every Chromium reads, where there is none", [], ".pki/nssdb"],
    ["~/.local/share/pki/nssdb, where only that is there", [".local/share/pki/nssdb"], ".local/share/pki/nssdb"],
    ["~/.pki/nssdb, where both are there", [".local/share/pki/nssdb", ".pki/nssdb"], ".pki/nssdb"],
  ])("by default in %s", async (_, there, place) => {
    const agent = await newHost();
    for (const each of there) await newDatabase(agent.pathOf("home", each));
    const corp = desired(authority.root, { trustStoreType: "nss_shared_db", config: { alias: "corp" } });
    expect(await agent.pass(corp)).toEqual(installed(corp));
    expect(statSync(agent.pathOf("home", place, "key4.db")).mode & 0o777).toBe(0o600);
    expect(await agent.pass(corp)).toEqual(installed(corp));
    const listed = await Bun.$`certutil -L -d ${`sql:${agent.pathOf("home", place)}`}`.text();
    expect(listed).toMatch(/^corp +C,, *$/m);
    expect(await agent.withdraw(corp)).toEqual({ state: "removed" });
    agent.remove();
  });

  test("an intermediate is there without being an anchor", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const intermediate = item(agent, authority.intermediate, {}, { materialType: "intermediate_ca" });
    expect(await agent.pass(intermediate)).toEqual(installed(intermediate));
    expect(await database.list()).toEqual(["corp ,,", KNOWN]);
    expect(await database.trusts(server.port)).toBe(false);
    agent.remove();
  });

  test("drifted: removed, replaced, trusted less or more than desired, or all of the database lost", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const corp = anchor(agent);
    await agent.pass(corp);
    const tamper: [() => unknown, string][] = [
      [() => database.certutil(["-D", "-n", "corp"]), "lacks corp"],
      [
        async () => {
          await database.certutil(["-D", "-n", "corp"]);
          await database.add("corp", "C,,", known.intermediate.pem);
        },
        "holds another certificate as corp",
      ],
      [() => database.certutil(["-M", "-n", "corp", "-t", ",,"]), "has corp with the trust ,,, not C,,"],
      [() => database.certutil(["-M", "-n", "corp", "-t", "CT,C,C"]), "has corp with the trust CT,C,C, not C,,"],
      [() => rmSync(agent.pathOf("db"), { recursive: true }), "lacks corp"],
    ];
    for (const [each, fault] of tamper) {
      await each();
      expect(await agent.pass(corp)).toMatchObject({ ...installed(corp), state: "drifted", message: expect.stringContaining(fault) });
      expect(await database.list()).toContain("corp C,,");
    }
    expect(await database.trusts(server.port)).toBe(true);
    expect(await agent.pass(corp)).toEqual(installed(corp));
    agent.remove();
  });

  test("failed, and as it was: a reload that fails, a server that it does not make trusted, also while it heals", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const rolledBack = words("Rolled back: the store is as it was.");
    expect(await agent.pass(anchor(agent, { verifyEndpoint: knownServer.url, verifyServerName: "good.test" }))).toMatchObject(rolledBack);
    expect(await database.list()).toEqual([KNOWN]);
    const corp = anchor(agent);
    await agent.pass(corp);
    const failing = { ...corp, version: 2, config: { ...corp.config, reloadCommand: ["false"] } };
    for (const trust of ["CT,,", "p,,"]) {
      await database.certutil(["-M", "-n", "corp", "-t", trust]);
      expect(await agent.pass(failing)).toMatchObject(rolledBack);
      expect(await database.list()).toEqual([`corp ${trust}`, KNOWN]);
    }
    const moved = { ...failing, config: { ...failing.config, alias: "renamed" } };
    expect(await agent.pass(moved)).toMatchObject(rolledBack);
    expect(await database.list()).toEqual(["corp p,,", KNOWN]);
    expect(leftIn(agent)).toEqual([]);
    agent.remove();
  });

  test("what others have put there stays: refused where it is in the way, used where it will do", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    expect(await agent.pass(anchor(agent, { alias: "known" }))).toMatchObject(
      words("holds a certificate as known with the trust C,, already, and not by this agent"),
    );
    for (const alias of ["known", "corp"]) {
      const same = item(agent, known.root, { alias });
      expect(await agent.pass(same)).toEqual(installed(same));
      expect(await agent.withdraw(same)).toMatchObject({ state: "removed", message: expect.stringContaining("left it there") });
    }
    await database.certutil(["-M", "-n", "known", "-t", ",,"]);
    expect(await agent.pass(item(agent, known.root))).toMatchObject(words("holds a certificate as known with the trust ,, already"));
    expect(await database.list()).toEqual(["known ,,"]);
    const corp = anchor(agent);
    await agent.pass(corp);
    await database.certutil(["-D", "-n", "corp"]);
    await database.add("corp", ",,", known.intermediate.pem);
    expect(await agent.withdraw(corp)).toEqual({ state: "removed" });
    expect(await database.list()).toEqual(["corp ,,", "known ,,"]);
    agent.remove();
  });

  test("two anchors of one subject, as in a rotation: each comes and goes alone; under one nickname they are left to a person", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const [old, young] = [anchor(agent), item(agent, namesake.root, { alias: "corp-2" })];
    await agent.pass(old);
    expect(await agent.pass(young)).toEqual(installed(young));
    expect(await database.list()).toEqual(["corp C,,", "corp-2 C,,", KNOWN]);
    expect(await Promise.all([server, namesakeServer].map(({ port }) => database.trusts(port)))).toEqual([true, true]);
    expect(await agent.withdraw(old)).toEqual({ state: "removed" });
    expect(await Promise.all([server, namesakeServer].map(({ port }) => database.trusts(port)))).toEqual([false, true]);
    await database.add("corp-2", "C,,", authority.root.pem);
    expect(await agent.withdraw(young)).toMatchObject(words("holds several certificates as corp-2"));
    expect(await database.list()).toEqual(["corp-2 C,,", "corp-2 C,,", KNOWN]);
    agent.remove();
  });

  test("another alias takes the place of the first", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const corp = anchor(agent);
    await agent.pass(corp);
    const renamed = { ...corp, version: 2, config: { ...corp.config, alias: "with two words" } };
    expect(await agent.pass(renamed)).toEqual(installed(corp));
    expect(await database.list()).toEqual([KNOWN, "with two words C,,"]);
    expect(await database.trusts(server.port)).toBe(true);
    agent.remove();
  });
});

describe("nss_shared_db, client certificates", () => {
  /** A server of the known authority that asks for a certificate of the other's. */
  const newAsking = async () => serveTls(await known.issueServer("asking.test"), authority.root.pem);

  test.each([
    ["without a password", "", {}],
    ["with one", PASSWORD, { storePasswordRef: "env:DB_PASSWORD" }],
  ])("a database %s: the server accepts NSS, then with the next certificate; nothing of them is left", async (_, password, more) => {
    const agent = await newHost();
    const database = await newKnowing(agent, password);
    const [asking, leaf, next] = await Promise.all([newAsking(), authority.issueServer("client.test"), authority.issueServer("client.test")]);
    expect(await database.trusts(asking.port)).toBe(false);
    const corp = client(agent, leaf, more);
    expect(await agent.pass(corp)).toEqual(installed(corp));
    expect(await database.list()).toEqual(["corp issuer 1 ,,", "corp u,u,u", "key corp", KNOWN]);
    expect(await database.trusts(asking.port, "corp")).toBe(true);
    expect(await agent.pass(corp, without(agent))).toEqual(installed(corp));
    const rotated = { ...client(agent, next, more), id: corp.id, version: 2 };
    const failing = { ...rotated, config: { ...rotated.config, reloadCommand: ["false"] } };
    expect(await agent.pass(failing)).toMatchObject({ ...words("Rolled back"), observedFingerprint: leaf.fingerprint });
    expect(await database.trusts(asking.port, "corp")).toBe(true);
    expect(await agent.pass({ ...rotated, version: 3 })).toEqual(installed(rotated));
    expect(await database.trusts(asking.port, "corp")).toBe(true);
    expect(await agent.withdraw(rotated)).toEqual({ state: "removed" });
    expect(await database.list()).toEqual([KNOWN]);
    expect(leftIn(agent)).toEqual([]);
    await asking.stop();
    agent.remove();
  });

  test("drifted: the key, the certificate or its issuer is gone; an issuer that was there before stays", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent);
    const corp = client(agent, await authority.issueServer("client.test"));
    await agent.pass(corp);
    const whole = await database.list();
    const keyless = async () => {
      const pem = await database.certutil(["-L", "-n", "corp", "-a"]);
      await database.certutil(["-F", "-n", "corp"]);
      await database.add("corp", ",,", pem);
    };
    for (const each of [keyless, () => database.certutil(["-F", "-n", "corp"]), () => database.certutil(["-D", "-n", "corp issuer 1"])]) {
      await each();
      expect(await agent.pass(corp)).toMatchObject({ ...installed(corp), state: "drifted" });
      expect(await database.list()).toEqual(whole);
    }
    await agent.withdraw(corp);
    await database.add("issuer", ",,", authority.intermediate.pem);
    const second = client(agent, await authority.issueServer("client.test"));
    await agent.pass(second);
    expect(await database.list()).toEqual(["corp u,u,u", "issuer ,,", "key corp", KNOWN]);
    await agent.withdraw(second);
    expect(await database.list()).toEqual(["issuer ,,", KNOWN]);
    agent.remove();
  });
});

describe("nss_shared_db, passwords and users", () => {
  test("a database with a password: from a variable or a file; a wrong or missing one changes nothing, not even half", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent, PASSWORD);
    const before = contentOf(agent);
    for (const [more, text] of [
      [{}, "has a password. Set config.storePasswordRef."],
      [{ storePasswordRef: `file:${agent.pathOf("home/wrong")}` }, "The password does not open the database"],
      [{ storePasswordRef: "env:NOBODY_SET_IT" }, "is not set where the agent runs"],
      [{ storePasswordRef: "vault:nss#password" }, "cannot ask a vault"],
    ] as const) {
      writeFileSync(agent.pathOf("home/wrong"), "wrong-one\n");
      const result = await agent.pass(anchor(agent, more));
      rmSync(agent.pathOf("home/wrong"));
      expect(result?.message).not.toContain("wrong-one");
      expect(result).toMatchObject(words(text));
      expect(contentOf(agent)).toEqual(before);
    }
    const corp = anchor(agent, { storePasswordRef: `file:${agent.pathOf("db.password")}` });
    expect(await agent.pass(corp)).toEqual(installed(corp));
    expect(await database.trusts(server.port)).toBe(true);
    expect(await agent.pass({ ...corp, version: 2, config: { ...corp.config, storePasswordRef: "env:DB_PASSWORD" } })).toEqual(installed(corp));
    expect(await agent.withdraw(corp)).toEqual({ state: "removed" });
    expect(await database.list()).toEqual([KNOWN]);
    agent.remove();
  });

  test("a database that is made with a password has it", async () => {
    const agent = await newHost();
    const corp = client(agent, await authority.issueServer("client.test"), { storePasswordRef: "env:DB_PASSWORD" });
    expect(await agent.pass(corp)).toEqual(installed(corp));
    expect(await runs(["certutil", "-K", "-d", `sql:${agent.pathOf("db")}`])).toMatchObject({
      isGood: false,
      stderr: expect.stringContaining("SEC_ERROR_BAD_PASSWORD"),
    });
    agent.remove();
  });

  test.each([
    ["the account that dbUser names", { dbUser: "nobody" }],
    ["the owner of the directory", {}],
  ])("the tools run as %s", async (_, more) => {
    const agent = await newHost();
    mkdirSync(agent.pathOf("user"));
    chownSync(agent.pathOf("user"), NOBODY.uid, NOBODY.gid);
    const place = { trustStorePath: agent.pathOf("user/.pki/nssdb"), ...more };
    const [corp, own] = [anchor(agent, place), client(agent, await authority.issueServer("client.test"), { ...place, alias: "own" })];
    for (const each of [corp, own]) expect(await agent.pass(each)).toEqual(installed(each));
    for (const name of ["cert9.db", "key4.db", "pkcs11.txt"]) expect(await ownerOf(agent.pathOf("user/.pki/nssdb"), name)).toBe("nobody 600");
    expect(await ownerOf(agent.pathOf("user"), ".pki")).toBe("nobody 700");
    for (const each of [corp, own]) expect(await agent.withdraw(each)).toEqual({ state: "removed" });
    expect(leftIn(agent)).toEqual([]);
    agent.remove();
  });

  test("failed with a sentence that helps, and as it was", async () => {
    const agent = await newHost();
    await newKnowing(agent);
    mkdirSync(agent.pathOf("garbage"));
    writeFileSync(agent.pathOf("garbage/cert9.db"), "garbage");
    mkdirSync(agent.pathOf("closed"));
    for (const name of readdirSync(agent.pathOf("db"))) copyFileSync(agent.pathOf("db", name), agent.pathOf("closed", name));
    for (const name of ["", ...readdirSync(agent.pathOf("closed"))]) {
      chownSync(agent.pathOf("closed", name), NOBODY.uid, NOBODY.gid);
      chmodSync(agent.pathOf("closed", name), name === "" ? 0o500 : 0o400);
    }
    const before = contentOf(agent);
    for (const [more, text] of [
      [{ dbUser: "nobody-of-that-name" }, "names the account nobody-of-that-name, which this host does not have"],
      [{ alias: "token:corp" }, "config.alias must be without a colon"],
      [{ trustStorePath: agent.pathOf("garbage") }, `The database ${agent.pathOf("garbage")}: certutil ended with exit code 255`],
      [{ trustStorePath: agent.pathOf("closed") }, "SEC_ERROR_READ_ONLY"],
      [{ trustStorePath: "/proc/nowhere" }, "/proc/nowhere cannot be made"],
      [{ trustStorePath: "nssdb" }, "config.trustStorePath must be an absolute path"],
    ] as const) {
      expect(await agent.pass(anchor(agent, more))).toMatchObject(words(text));
      expect(contentOf(agent)).toEqual(before);
      expect(leftIn(agent)).toEqual([]);
    }
    expect(await agent.pass(anchor(agent), without(agent))).toMatchObject(words("certutil is not installed on this host, or not on the agent's PATH"));
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("killed right after certutil has done its work: the next run takes it back, and ends as desired", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent, PASSWORD);
    mkdirSync(agent.pathOf("bin"));
    const real = Bun.which("certutil");
    writeFileSync(agent.pathOf("bin/certutil"), `#!/bin/sh\ncase "$*" in *" -A "*) ${real} "$@"; kill -9 $PPID;; *) exec ${real} "$@";; esac\n`);
    chmodSync(agent.pathOf("bin/certutil"), 0o755);
    agent.memory.close();
    const corp = anchor(agent, { storePasswordRef: "env:DB_PASSWORD" });
    const pass = `
      import { newAgentHost } from ${JSON.stringify(join(import.meta.dir, "../../support/agent-host.ts"))};
      const [directory, environment, item] = process.argv.slice(1).map((each, index) => (index === 0 ? each : JSON.parse(each)));
      const agent = await newAgentHost((host) => ({ ...host, environment }), directory);
      await agent.pass(item);`;
    const environment = { ...agent.host.environment, PATH: `${agent.pathOf("bin")}:${Bun.env.PATH}` };
    const child = Bun.spawn([process.execPath, "-e", pass, agent.directory, JSON.stringify(environment), JSON.stringify(corp)], { stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    expect(await database.list()).toEqual(["corp C,,", KNOWN]);
    expect(leftIn(agent).length).toBe(1);
    const again = await newHost(agent.directory);
    const failing = { ...corp, version: 2, config: { ...corp.config, reloadCommand: ["false"] } };
    expect(await again.pass(failing)).toMatchObject(words("Rolled back"));
    expect(await database.list()).toEqual([KNOWN]);
    expect(await again.pass({ ...corp, version: 3 })).toEqual(installed(corp));
    expect(await database.list()).toEqual(["corp C,,", KNOWN]);
    expect(leftIn(agent)).toEqual([]);
    expect(readFileSync(agent.pathOf("state/assignments", `${corp.id}.json`), "utf8")).not.toContain(PASSWORD);
    again.remove();
  });
});
