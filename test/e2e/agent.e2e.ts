import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type Installation, newInstallation } from "../support/agent/installation";
import { stateOf, until } from "../support/agent/observing";
import { curl, newAnchor, readOwnStore, rebuildBundle } from "../support/agent/own-store";
import { newAuthority, serveTls } from "../support/pki/authority";
import { presentedAt, startNginx, writePair } from "../support/pki/tls-servers";

setDefaultTimeout(300_000);

type Authority = Awaited<ReturnType<typeof newAuthority>>;
let installation: Installation;
let authority: Authority;
let other: Authority;
beforeAll(async () => {
  [installation, authority, other] = await Promise.all([newInstallation(), newAuthority(), newAuthority()]);
});
afterAll(async () => {
  authority.remove();
  other.remove();
  await installation.remove();
});

const statesOf = (reports: { state: string }[]) => reports.map(({ state }) => state);

describe("the executable as an agent, and the machine's own trust store", () => {
  const before = readOwnStore();
  const anchor = newAnchor();
  const kept = newAnchor();
  afterAll(async () => {
    await anchor.clear();
    await kept.clear();
    expect(readOwnStore()).toEqual(before);
  });

  test("curl trusts what is assigned, and nothing else; every step is logged", async () => {
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
    const times = { reportedAt: expect.any(String), observedAt: expect.any(String) };
    const installed = { state: "installed", observedFingerprint: authority.root.fingerprint, message: null, ...times };

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
      expect(await pass()).toEqual(installed);
      const [, drift] = (await agent.read(id)).history;
      expect(drift).toEqual({ ...installed, state: "drifted", message: expect.stringContaining("Found and healed:") });
      expect(readFileSync(anchor.path, "utf8")).toBe(authority.root.pem);
      expect(await look()).toBe("trusted");
    }

    await changed(agent.change(id, { enabled: false }));
    expect(await pass()).toEqual({ state: "removed", observedFingerprint: null, message: null, ...times });
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

describe("the executable as an agent, and a server with a key", () => {
  test("nginx presents a certificate with its key, then the next one, and in the end its own again", async () => {
    const { importPem, get, enrol } = installation;
    const names = ["bootstrap.test", "first.test", "second.test"];
    const [bootstrap, first, second] = await Promise.all(names.map((name) => other.issueServer(name)));
    if (!bootstrap || !first || !second) throw new Error("the authority issued too few");
    await importPem(other.intermediate.pem);
    const ids = [await importPem(first.pem, first.privateKeyPem), await importPem(second.pem, second.privateKeyPem)];
    const agent = await enrol();
    mkdirSync(agent.pathOf("tls"));
    writePair(agent.pathOf("tls/tls.crt"), agent.pathOf("tls/tls.key"), bootstrap);
    const before = stateOf(agent.pathOf("tls"));
    const nginx = await startNginx(agent.pathOf());
    const verifyEndpoint = `https://127.0.0.1:${nginx.port}`;
    const { id } = await agent.assign(ids[0] ?? "", {
      trustStoreType: "nginx_tls",
      materialType: "server_certificate",
      includePrivateKey: true,
      config: { trustStorePath: agent.pathOf("tls"), reloadCommand: nginx.reloadCommand, verifyEndpoint },
    });
    for (const [index, issued] of [first, second].entries()) {
      if (index > 0) await agent.change(id, { certificateId: ids[index] });
      expect(await agent.once()).toMatchObject({ code: 0, stderr: "" });
      await until(async () => expect(await presentedAt(nginx.port)).toEqual([issued.fingerprint, other.intermediate.fingerprint])); // old workers end slowly
      expect((await agent.read(id)).report).toMatchObject({ state: "installed", observedFingerprint: issued.fingerprint });
    }
    await get("DELETE", `${agent.assignments}/${id}`);
    const { code, stdout } = await agent.once();
    expect(code).toBe(0);
    expect(stdout).not.toContain("PRIVATE KEY");
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    await until(async () => expect((await presentedAt(nginx.port))[0]).toBe(bootstrap.fingerprint));
    await nginx.stop();
  });
});
