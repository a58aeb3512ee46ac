import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { installed, leftIn, withoutTools } from "../../support/agent/program-stores";
import { serveTls } from "../../support/pki/authority";
import { client, failed, KNOWN, newHost, newNss, PASSWORD } from "../../support/pki/nss";

setDefaultTimeout(300_000);

const { authority, known, newKnowing, end } = await newNss();
afterAll(end);

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
    expect(await agent.pass(corp, withoutTools(agent))).toEqual(installed(corp));
    const rotated = { ...client(agent, next, more), id: corp.id, version: 2 };
    const failing = { ...rotated, config: { ...rotated.config, reloadCommand: ["false"] } };
    expect(await agent.pass(failing)).toMatchObject({ ...failed("Rolled back"), observedFingerprint: leaf.fingerprint });
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
