import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { installed, leftIn, passInChild, withoutTools } from "../../support/agent/program-stores";
import { client, failed, KNOWN, newHost, newNss, ownerOf, PASSWORD } from "../../support/pki/nss";
import { contentOf, runs } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const { authority, server, anchor, newKnowing, end } = await newNss();
afterAll(end);

const NOBODY = { uid: 65534, gid: 65534 };

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
      expect(result).toMatchObject(failed(text));
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
      [
        { alias: "token:corp" },
        "config.alias must be one plain name, without slashes and control characters, that does not begin with - or @, and has no colon.",
      ],
      [{ trustStorePath: agent.pathOf("garbage") }, `The database ${agent.pathOf("garbage")}: certutil ended with exit code 255`],
      [{ trustStorePath: agent.pathOf("closed") }, "SEC_ERROR_READ_ONLY"],
      [{ trustStorePath: agent.pathOf("garbage/cert9.db/nssdb") }, "something on the way to it is not a directory"],
      [{ trustStorePath: "nssdb" }, "config.trustStorePath must be an absolute path"],
    ] as const) {
      expect(await agent.pass(anchor(agent, more))).toMatchObject(failed(text));
      expect(contentOf(agent)).toEqual(before);
      expect(leftIn(agent)).toEqual([]);
    }
    expect(await agent.pass(anchor(agent), withoutTools(agent))).toMatchObject(failed("certutil is not installed on this host, or not on the agent's PATH"));
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("killed right after certutil has done its work: the next run takes it back, and ends as desired", async () => {
    const agent = await newHost();
    const database = await newKnowing(agent, PASSWORD);
    const real = Bun.which("certutil");
    const corp = anchor(agent, { storePasswordRef: "env:DB_PASSWORD" });
    const script = `case "$*" in *" -A "*) ${real} "$@"; kill -9 $PPID;; *) exec ${real} "$@";; esac`;
    const { signal } = await passInChild(agent, corp, "certutil", script);
    expect(signal).toBe("SIGKILL");
    expect(await database.list()).toEqual(["corp C,,", KNOWN]);
    expect(leftIn(agent).length).toBe(1);
    const again = await newHost(agent.directory);
    const failing = { ...corp, version: 2, config: { ...corp.config, reloadCommand: ["false"] } };
    expect(await again.pass(failing)).toMatchObject(failed("Rolled back"));
    expect(await database.list()).toEqual([KNOWN]);
    expect(await again.pass({ ...corp, version: 3 })).toEqual(installed(corp));
    expect(await database.list()).toEqual(["corp C,,", KNOWN]);
    expect(leftIn(agent)).toEqual([]);
    expect(readFileSync(agent.pathOf("state/assignments", `${corp.id}.json`), "utf8")).not.toContain(PASSWORD);
    again.remove();
  });
});
