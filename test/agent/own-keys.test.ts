import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createPublicKey, X509Certificate } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { policyReader } from "#agent/policy/host-policy";
import { createLog } from "#log/log";
import { newAgentHost } from "../support/agent/agent-host";
import { issueFor, keyRequest } from "../support/agent/own-keys";
import { holding } from "../support/agent/policies";
import { newAuthority } from "../support/pki/authority";
import type { AgentHost } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  authority = await newAuthority();
});
afterAll(() => authority.remove());

/** A host with a directory for a server's files. */
async function newPlace() {
  const agent = await newAgentHost();
  mkdirSync(agent.pathOf("tls"), { mode: 0o750 });
  const place = (more: object = {}) => ({
    trustStoreType: "pem_files" as const,
    config: { trustStorePath: agent.pathOf("tls"), certFileName: "tls.crt", keyFileName: "tls.key", keyPermissionMode: "0640", ...more },
  });
  return { agent, place, names: () => readdirSync(agent.pathOf("tls")).toSorted(), read: (name: string) => readFileSync(agent.pathOf("tls", name), "utf8") };
}

const publicIn = (pem: string) => createPublicKey(pem).export({ type: "spki", format: "pem" });
const isOf = (certificate: string, key: string) => new X509Certificate(certificate).publicKey.export({ type: "spki", format: "pem" }) === publicIn(key);
const waitingName = (requestId: string) => `.certitude-${requestId}.pending`;
/** Everything in the agent's own directory. */
const stateText = (agent: AgentHost) =>
  readdirSync(agent.pathOf("state"), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), "latin1"))
    .join("\n");

describe("a key that never leaves its host", () => {
  test("waits beside its place, as closed as that; comes there with its certificate, and is renewed with the next", async () => {
    const { agent, place, names, read } = await newPlace();
    const request = keyRequest(place());
    const item = await issueFor(agent, authority, request);
    expect(names()).toEqual([waitingName(request.requestId)]);
    expect(lstatSync(agent.pathOf("tls", waitingName(request.requestId))).mode & 0o777).toBe(0o640);
    expect(stateText(agent)).not.toContain("PRIVATE KEY");
    expect(await agent.pass(item)).toMatchObject({ state: "installed", observedFingerprint: item.fingerprintSha256 });
    await agent.answer([], { items: [item] });
    expect(names()).toEqual(["tls.crt", "tls.key"]);
    const first = read("tls.key");
    expect(isOf(item.pem, first)).toBe(true);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });

    const renewal = keyRequest({ ...place(), id: item.id }, { algorithm: "rsa-2048" });
    const renewed = await issueFor(agent, authority, renewal, { version: 2 });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(read("tls.key")).toBe(first);
    await agent.answer([{ ...renewal, hasCsr: true }], { items: [item] });
    expect(await agent.pass(renewed)).toMatchObject({ state: "installed", observedFingerprint: renewed.fingerprintSha256 });
    await agent.answer([], { items: [renewed] });
    expect(names()).toEqual(["tls.crt", "tls.key"]);
    expect(isOf(renewed.pem, read("tls.key"))).toBe(true);
    expect(stateText(agent)).not.toContain("PRIVATE KEY");
    expect(await agent.withdraw(renewed)).toEqual({ state: "removed" });
    expect(names()).toEqual([]);
    agent.remove();
  });

  test("is made once: by the next process too, and where the agent's own directory was lost", async () => {
    const { agent, place, names, read } = await newPlace();
    const request = keyRequest(place());
    const { csrs } = await agent.answer([request]);
    const key = read(waitingName(request.requestId));
    for (const begin of [
      () => agent.restart(),
      async () => {
        rmSync(agent.pathOf("state/keys"), { recursive: true });
        await agent.restart();
      },
    ]) {
      await begin();
      const again = await agent.answer([request]);
      expect(again.failed).toBe(0);
      expect(again.csrs.size).toBe(1);
      expect(read(waitingName(request.requestId))).toBe(key);
    }
    expect(csrs.get(request.requestId)).toStartWith("-----BEGIN CERTIFICATE REQUEST-----");
    expect(names()).toEqual([waitingName(request.requestId)]);
    expect((await agent.answer([{ ...request, hasCsr: true }])).csrs.size).toBe(0);
    await agent.answer([]);
    expect(names()).toEqual([]);
    agent.remove();
  });

  test("goes when its request is cancelled, and stays while its certificate is held or not installed yet", async () => {
    const { agent, place, names } = await newPlace();
    const request = keyRequest(place({ reloadCommand: ["false"] }));
    const item = await issueFor(agent, authority, request);
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
    for (const known of [{ items: [item] }, { keep: [item.id] }]) {
      await agent.answer([], known);
      expect(names()).toEqual([waitingName(request.requestId)]);
    }
    const other = await issueFor(agent, authority, keyRequest({ ...place(), id: item.id }));
    await agent.answer([], { items: [other] });
    expect(names()).toHaveLength(1);
    await agent.answer([]);
    expect(names()).toEqual([]);
    agent.remove();
  });

  test("an older server, which knows nothing of it, takes none away", async () => {
    const { agent, place, names } = await newPlace();
    await agent.answer([keyRequest(place())]);
    await agent.answer(undefined);
    expect(names()).toHaveLength(1);
    agent.remove();
  });

  test("failed: gone from its place, another in its place; healed: its mode", async () => {
    const { agent, place, read } = await newPlace();
    const item = await issueFor(agent, authority, keyRequest(place()));
    await agent.pass(item);
    await agent.answer([], { items: [item] });
    const key = read("tls.key");
    chmodSync(agent.pathOf("tls/tls.key"), 0o644);
    expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("tls.key has mode 644") });
    rmSync(agent.pathOf("tls/tls.crt"));
    expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
    expect(read("tls.key")).toBe(key);
    const lost = { state: "failed", message: expect.stringMatching(/was made on this host and is not there any more. Renew the certificate/) };
    writeFileSync(agent.pathOf("tls/tls.key"), authority.root.privateKeyPem);
    expect(await agent.pass(item)).toMatchObject(lost);
    expect(read("tls.key")).toBe(authority.root.privateKeyPem);
    rmSync(agent.pathOf("tls/tls.key"));
    expect(await agent.pass(item)).toMatchObject(lost);
    agent.remove();
  });

  test("moves with its assignment to another directory", async () => {
    const { agent, place, names, read } = await newPlace();
    const request = keyRequest(place());
    const item = await issueFor(agent, authority, request);
    await agent.pass(item);
    await agent.answer([], { items: [item] });
    const key = read("tls.key");
    mkdirSync(agent.pathOf("other"));
    const moved = { ...item, version: 2, config: place({ trustStorePath: agent.pathOf("other") }).config };
    expect(await agent.pass(moved)).toMatchObject({ state: "installed" });
    expect(names()).toEqual([]);
    expect(readFileSync(agent.pathOf("other/tls.key"), "utf8")).toBe(key);
    agent.remove();
  });

  test("waits in the agent's own directory where its place is still to be made", async () => {
    const { agent, place } = await newPlace();
    const request = keyRequest(place({ trustStorePath: agent.pathOf("later") }));
    const item = await issueFor(agent, authority, request);
    expect(lstatSync(agent.pathOf(`state/keys/${request.requestId}.pem`)).mode & 0o777).toBe(0o600);
    mkdirSync(agent.pathOf("later"));
    const { csrs } = await agent.answer([request]);
    expect(isOf(item.pem, readFileSync(agent.pathOf(`state/keys/${request.requestId}.pem`), "utf8"))).toBe(true);
    expect(csrs.size).toBe(1);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    await agent.answer([], { items: [item] });
    expect(stateText(agent)).not.toContain("PRIVATE KEY");
    expect(readdirSync(agent.pathOf("state/keys"))).toEqual([]);
    agent.remove();
  });

  test("refused by the host's policy before anything is written; reported once, and made once it is permitted", async () => {
    const { agent, place, names } = await newPlace();
    const request = keyRequest(place());
    const policy = holding({ directories: [agent.pathOf("tls")] });
    const { csrs, faults, failed } = await agent.answer([request], {}, { policy });
    expect([csrs.size, failed, names()]).toEqual([0, 1, []]);
    expect(faults).toEqual([{ state: "refused", message: expect.stringMatching(/does not permit its private key. .*policy allow --private-keys$/) }]);
    expect((await agent.answer([request], {}, { policy })).faults).toEqual([]);
    const unreadable = await policyReader({ file: agent.pathOf("nowhere.json"), command: "certitude agent" }, createLog("silent"))();
    expect((await agent.answer([request], {}, { policy: unreadable })).faults).toEqual([
      { state: "refused", message: expect.stringContaining("cannot be used") },
    ]);
    expect((await agent.answer([request], {}, { ignoreBackoff: false })).csrs.size).toBe(1);
    agent.remove();
  });

  test("failed, and reported once: no file for a key, an anchor, a key that was lost after it was sent", async () => {
    const { agent, place, names } = await newPlace();
    const lost = { ...keyRequest(place()), hasCsr: true };
    for (const [request, words] of [
      [keyRequest(place({ keyFileName: undefined })), /names no file for the private key/],
      [
        keyRequest({ trustStoreType: "pem_ca_bundle", materialType: "trust_anchor", config: { trustStorePath: agent.pathOf("a.pem") } }),
        /own certificate alone/,
      ],
      [
        keyRequest({ trustStoreType: "nginx_tls", config: { trustStorePath: agent.pathOf("gone"), reloadCommand: ["true"] } }),
        /gone does not exist on this host/,
      ],
      [lost, /is not on this host any more. Cancel the request/],
    ] as const) {
      const asked = JSON.parse(JSON.stringify(request));
      expect((await agent.answer([asked])).faults).toEqual([{ state: "failed", message: expect.stringMatching(words) }]);
      expect((await agent.answer([asked])).faults).toEqual([]);
    }
    expect(names()).toEqual([]);
    expect((await agent.answer([lost], {}, { ignoreBackoff: false })).failed).toBe(0); // it waits to be tried again
    agent.remove();
  });

  test("nothing is made in a dry run", async () => {
    const { agent, place, names } = await newPlace();
    const { csrs, faults } = await agent.answer([keyRequest(place())], {}, { isDryRun: true });
    expect([csrs.size, faults, names()]).toEqual([0, [], []]);
    agent.remove();
  });

  test("goes with all else that the agent has installed", async () => {
    const { agent, place, names } = await newPlace();
    const request = keyRequest(place());
    const item = await issueFor(agent, authority, request);
    await agent.pass(item);
    await agent.answer([keyRequest({ ...place(), id: item.id })], { items: [item] });
    expect(names()).toHaveLength(3);
    await agent.clean([item]);
    expect(names()).toEqual([]);
    agent.remove();
  });
});
