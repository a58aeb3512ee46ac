import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { desired } from "../../support/agent/agent-host";
import { installed, leftIn, withoutTools } from "../../support/agent/program-stores";
import { failed, itemOf, KNOWN, newDatabase, newHost, newNss } from "../../support/pki/nss";
import { contentOf } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const { authority, known, namesake, server, knownServer, namesakeServer, anchor, newKnowing, end } = await newNss();
afterAll(end);

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
    expect(await agent.pass(corp, withoutTools(agent))).toEqual(installed(corp)); // and needs no tool for that
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
    const intermediate = itemOf(agent, authority.intermediate, {}, { materialType: "intermediate_ca" });
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
      [() => database.certutil(["-M", "-n", "corp", "-t", ",,"]), "has ‹corp› with the trust ‹,,›, not C,,"],
      [() => database.certutil(["-M", "-n", "corp", "-t", "CT,C,C"]), "has ‹corp› with the trust ‹CT,C,C›, not C,,"],
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
    const rolledBack = failed("Rolled back: the store is as it was.");
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
      failed("holds a certificate as ‹known› with the trust ‹C,,› already, and not by this agent"),
    );
    for (const alias of ["known", "corp"]) {
      const same = itemOf(agent, known.root, { alias });
      expect(await agent.pass(same)).toEqual(installed(same));
      expect(await agent.withdraw(same)).toMatchObject({ state: "kept", message: expect.stringContaining("left it there") });
    }
    await database.certutil(["-M", "-n", "known", "-t", ",,"]);
    expect(await agent.pass(itemOf(agent, known.root))).toMatchObject(failed("holds a certificate as ‹known› with the trust ‹,,› already"));
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
    const [old, young] = [anchor(agent), itemOf(agent, namesake.root, { alias: "corp-2" })];
    await agent.pass(old);
    expect(await agent.pass(young)).toEqual(installed(young));
    expect(await database.list()).toEqual(["corp C,,", "corp-2 C,,", KNOWN]);
    expect(await Promise.all([server, namesakeServer].map(({ port }) => database.trusts(port)))).toEqual([true, true]);
    expect(await agent.withdraw(old)).toEqual({ state: "removed" });
    expect(await Promise.all([server, namesakeServer].map(({ port }) => database.trusts(port)))).toEqual([false, true]);
    await database.add("corp-2", "C,,", authority.root.pem);
    expect(await agent.withdraw(young)).toMatchObject(failed("holds several certificates as corp-2"));
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
