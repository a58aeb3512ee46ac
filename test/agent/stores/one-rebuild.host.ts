import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thisHost } from "#agent/host/host";
import { certificatesIn, fingerprintOf } from "#agent/host/pem";
import { desired, newAgentHost } from "../../support/agent/agent-host";
import { newConnectedAgent } from "../../support/agent/connected-agent";
import { passInOwnProcess, placeOf, REBUILT, type Rebuilt, runsIn, withCountedTools } from "../../support/agent/counting-tools";
import { newParties, type Parties } from "../../support/agent/store-behaviour";
import { newAuthority } from "../../support/pki/authority";
import { importInto } from "../../support/pki/certificates";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

/** A connected agent, and what its assignments of anchors come to in the bundle that programs read. */
async function begin(trustStoreType: Rebuilt) {
  const agent = await newConnectedAgent(withCountedTools);
  const { anchors, bundle } = placeOf(trustStoreType, agent.host);
  agent.setPolicy({ directories: [anchors] });
  const post = async (body: object) =>
    String((await agent.ask("POST", agent.assignments, { body: { applicationId: crypto.randomUUID(), trustStoreType, ...body } })).id);
  const assign = async (alias: string, config: object = {}, root?: { id: string; pem: string }) => {
    const { id: certificateId, pem } = root ?? (await agent.newRoot(alias));
    return { id: await post({ certificateId, config: { alias, trustStorePath: anchors, ...config } }), alias, certificateId, fingerprint: fingerprintOf(pem) };
  };
  const assignMany = async (count: number, prefix = "root") => {
    const made = [];
    for (let index = 0; index < count; index++) made.push(await assign(`${prefix}-${index}`));
    return made;
  };
  return {
    agent,
    anchors,
    bundle,
    post,
    assign,
    assignMany,
    runs: () => runsIn(agent.pathOf()),
    /** The assigned ones that the store's reader finds. */
    trusted: (...assigned: { alias: string; fingerprint: string }[]) => {
      const found = new Set(certificatesIn(readFileSync(bundle, "utf8")).map(fingerprintOf));
      return assigned.filter(({ fingerprint }) => found.has(fingerprint)).map(({ alias }) => alias);
    },
    files: () => readdirSync(anchors).toSorted(),
    lastOf: async ({ id }: { id: string }) => (await agent.historyOf(id)).at(-1),
    breakTools: (line = "echo the disk is full >&2; exit 7") => writeFileSync(agent.pathOf("fault"), line),
    mendTools: () => rmSync(agent.pathOf("fault")),
  };
}

const names = (assigned: { alias: string }[]) => assigned.map(({ alias }) => alias);
const fileNames = (assigned: { alias: string }[]) =>
  names(assigned)
    .map((alias) => `${alias}.crt`)
    .toSorted();

describe.each(REBUILT)("%s: the tool runs once", (type) => {
  test("for ten that are installed, for what comes, goes and is healed together, and not at all where nothing has changed", async () => {
    const { agent, anchors, bundle, assignMany, runs, trusted, files, lastOf } = await begin(type);
    const ten = await assignMany(10);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([runs(), trusted(...ten), files()]).toEqual([1, names(ten), fileNames(ten)]);
    for (const each of ten) expect(await lastOf(each)).toBe("installed");
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(runs()).toBe(0);

    const [gone, rest] = [ten.slice(0, 4), ten.slice(4)];
    for (const { id } of gone) await agent.change(id, { enabled: false });
    const more = await assignMany(3, "more");
    rmSync(join(anchors, `${rest[0]?.alias}.crt`));
    writeFileSync(join(anchors, `${rest[1]?.alias}.crt`), parties.known.root.pem);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([runs(), trusted(...ten, ...more), files()]).toEqual([1, names([...rest, ...more]), fileNames([...rest, ...more])]);
    for (const each of gone) expect(await lastOf(each)).toBe("removed");
    for (const each of more) expect(await lastOf(each)).toBe("installed");
    for (const each of rest.slice(0, 2)) expect(await lastOf(each)).toStartWith("drifted: Found and healed:");

    writeFileSync(bundle, parties.known.root.pem);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([runs(), trusted(...rest, ...more)]).toEqual([1, names([...rest, ...more])]);
    for (const each of [...rest, ...more]) expect(await lastOf(each)).toStartWith("drifted: Found and healed:");

    for (const { id } of [...rest, ...more]) await agent.change(id, { enabled: false });
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([runs(), trusted(...rest, ...more), files()]).toEqual([1, [], []]);
    await agent.end();
  });

  test("failed: where the tool fails, each of the pass is rolled back with the reason, by one more run; the next pass does it all", async () => {
    const { agent, assignMany, runs, trusted, files, lastOf, breakTools, mendTools } = await begin(type);
    const old = await assignMany(3, "old");
    await agent.pass();
    runs();
    for (const { id } of old.slice(1)) await agent.change(id, { enabled: false });
    const fresh = await assignMany(3, "new");
    breakTools();
    expect(await agent.pass()).toEqual({ failed: 5 });
    expect([runs(), trusted(...old, ...fresh), files()]).toEqual([2, names(old), fileNames(old)]);
    for (const each of [...old.slice(1), ...fresh])
      expect(await lastOf(each)).toMatch(
        /^failed: .* ended with exit code 7: …\. Rolled back: the store is as it was\. The rest is in the agent's log on the host\.$/,
      );
    mendTools();
    expect(await agent.pass({ ignoreBackoff: true })).toEqual({ failed: 0 });
    const left = [...old.slice(0, 1), ...fresh];
    expect([runs(), trusted(...old, ...fresh), files()]).toEqual([1, names(left), fileNames(left)]);
    await agent.end();
  });

  test("failed: one whose endpoint is not trusted by it is taken back alone; the others stay", async () => {
    const { agent, assign, assignMany, runs, trusted, files, lastOf } = await begin(type);
    const [certificateId = ""] = await importInto(agent.organization, parties.authority.root.pem);
    const root = { id: certificateId, pem: parties.authority.root.pem };
    const good = [...(await assignMany(2)), await assign("good", { verifyEndpoint: parties.server.url, verifyServerName: "good.test" }, root)];
    const distrusted = await assign("distrusted", { verifyEndpoint: parties.server.url, verifyServerName: "good.test" });
    expect(await agent.pass()).toEqual({ failed: 1 });
    expect([runs(), trusted(...good, distrusted), files()]).toEqual([2, names(good), fileNames(good)]);
    expect(await lastOf(distrusted)).toMatch(/^failed: .* was not verified \(ENDPOINT_NOT_VERIFIED\): … .*Rolled back/);
    for (const each of good) expect(await lastOf(each)).toBe("installed");
    await agent.end();
  });

  test("killed between writing the anchors and the run, the next agent takes them back by one run, and does it all by another; so does `remove --all`", async () => {
    const directory = mkdtempSync(join(tmpdir(), "certitude-host-"));
    const place = placeOf(type, withCountedTools(thisHost({}), directory));
    const authorities = await Promise.all([newAuthority(), newAuthority(), newAuthority()]);
    const items = authorities.map(({ root }, index) =>
      desired(root, { trustStoreType: type, config: { alias: `root-${index}`, trustStorePath: place.anchors } }),
    );
    writeFileSync(join(directory, "fault"), 'kill -9 "$PPID"');
    expect(await passInOwnProcess(directory, items)).toBe("SIGKILL");
    const files = () => readdirSync(place.anchors).toSorted();
    expect([runsIn(directory), files()]).toEqual([1, ["root-0.crt", "root-1.crt", "root-2.crt"]]);
    rmSync(join(directory, "fault"));
    const agent = await newAgentHost(withCountedTools, directory);
    await agent.passAll([]);
    expect([runsIn(directory), files()]).toEqual([1, []]);
    expect(await agent.passAll(items)).toEqual(items.map(({ fingerprintSha256 }) => ({ state: "installed", observedFingerprint: fingerprintSha256 })));
    expect([runsIn(directory), files()]).toEqual([1, ["root-0.crt", "root-1.crt", "root-2.crt"]]);
    expect((await agent.clean(items)).map(({ alias, state }) => `${alias} ${state}`).toSorted()).toEqual([
      "root-0 removed",
      "root-1 removed",
      "root-2 removed",
    ]);
    expect([runsIn(directory), files()]).toEqual([1, []]);
    agent.remove();
    for (const each of authorities) each.remove();
  });
});

test("programs that are made to read the system's store share its run, as what lies there for all", async () => {
  const { agent, post, assignMany, runs, lastOf } = await begin("linux_update_ca_certificates");
  const { id: certificateId } = await agent.newRoot("Shared");
  const envFilePath = agent.pathOf("environment");
  agent.setPolicy({ directories: [agent.host.system.anchors], files: [envFilePath] });
  const preferring = (trustStoreType: string, config: object = {}) => post({ trustStoreType, certificateId, config: { preferOsStore: true, ...config } });
  const ids = [
    await preferring("curl_ca_bundle"),
    await preferring("ssl_cert_file_env", { envFilePath }),
    await preferring("python_requests_ca_bundle", { envFilePath }),
    ...(await assignMany(2)).map(({ id }) => id),
  ];
  expect(await agent.pass()).toEqual({ failed: 0 });
  expect(runs()).toBe(1);
  expect(readFileSync(envFilePath, "utf8")).toContain(`SSL_CERT_FILE=${agent.host.system.bundle}\n`);
  for (const id of ids) await agent.change(id, { enabled: false });
  expect(await agent.pass()).toEqual({ failed: 0 });
  expect(runs()).toBe(1);
  for (const id of ids) expect(await lastOf({ id })).toBe("removed");
  expect(readdirSync(agent.pathOf()).filter((name) => ["environment", ".curlrc"].includes(name))).toEqual([]);
  await agent.end();
});

test("bundles that take the public roots from the system's store come after it: nothing of them has drifted at the next pass", async () => {
  const { agent, post, assign, lastOf } = await begin("linux_update_ca_certificates");
  const root = await agent.newRoot("Both");
  const bundled = await post({ trustStoreType: "curl_ca_bundle", certificateId: root.id, config: {} });
  await assign("both", {}, root);
  for (let passes = 0; passes < 2; passes++) expect(await agent.pass()).toEqual({ failed: 0 });
  expect(await agent.historyOf(bundled)).toEqual(["installed"]);
  expect(await lastOf({ id: bundled })).toBe("installed");
  await agent.end();
});
