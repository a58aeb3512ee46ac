import { beforeEach, describe, expect, test } from "bun:test";
import { deactivateOtherRollouts, desired, newFleet, report, runRolloutJob, type TestAgent } from "../../../support/server/fleet";

beforeEach(deactivateOtherRollouts);

const TYPE = "linux_update_ca_certificates";

async function withRoots(...labels: Record<string, string>[]) {
  const fleet = await newFleet(...(labels.length > 0 ? labels : [{}]));
  const [root = "", next = ""] = await fleet.importRoots("Old Root", "New Root");
  const path = `/certificates/${root}/successor`;
  const start = async (rest: object = {}) => (await fleet.organization.admin("POST", path, { body: { certificateId: next, ...rest } })).body;
  const read = async () => (await fleet.organization.member("GET", path)).body;
  const mark = (await fleet.organization.member("GET", `/certificates/${next}`)).body.fingerprintSha256.slice(0, 8);
  const [agent] = fleet.agents as unknown as [TestAgent];
  const change = (id: string, body: object) => fleet.organization.admin("PATCH", `${agent.assignments}/${id}`, { body });
  return { ...fleet, agent, root, next, path, start, read, mark, change };
}

/** Which certificates the agent must have, and under which names. */
const names = async (agent: TestAgent) =>
  (await desired(agent)).map(({ certificateId, config }) => [certificateId, config.alias, (config as { certFileName?: string }).certFileName]);

describe("a certificate and its successor, where both are trusted", () => {
  test("overlap in every store: the successor comes beside it as a copy of its assignment, whatever autoRenew says", async () => {
    const { organization, agent, root, next, assign, start, mark, read } = await withRoots();
    const config = { alias: "corp", trustStorePath: "/opt/ca", removeOnRevoke: false, autoRenew: false, reloadCommand: ["systemctl", "reload", "x"] };
    const old = await assign(agent, root, { applicationId: "mail", materialType: "intermediate_ca", autoRenew: false, config });
    await start();
    const { items } = (await organization.member("GET", agent.assignments)).body;
    expect(items).toHaveLength(2);
    expect(items.find((each: { id: string }) => each.id === old.id)).toEqual({ ...old, removingSince: null, heldSince: null });
    const beside = items.find((each: { id: string }) => each.id !== old.id);
    const { id, createdAt, updatedAt } = beside;
    expect(beside).toEqual({
      ...old,
      removingSince: null,
      heldSince: null,
      id,
      createdAt,
      updatedAt,
      certificateId: next,
      commonName: "New Root",
      config: { ...config, alias: `corp-${mark}` },
    });
    expect((await names(agent)).toSorted()).toEqual(
      [
        [root, "corp", undefined],
        [next, `corp-${mark}`, undefined],
      ].toSorted(),
    );
    await report("installed", agent);
    expect(await read()).toMatchObject({ total: 1, observed: 1, share: 1, status: "overlapping" });
  });

  test.each([
    [{ certFileName: "ca.crt" }, { certFileName: "ca-MARK.crt" }],
    [{ certFileName: "bundle.tar.pem" }, { certFileName: "bundle.tar-MARK.pem" }],
    [{ certFileName: "plain" }, { certFileName: "plain-MARK" }],
    [{ certFileName: "a.crt" }, { certFileName: "a-MARK.crt" }],
    [{ alias: "x".repeat(200) }, { alias: `${"x".repeat(191)}-MARK` }],
    [{ certFileName: `${"x".repeat(196)}.crt` }, { certFileName: `${"x".repeat(187)}-MARK.crt` }],
    [{}, {}],
  ])("do not share a name: %j", async (config, expected) => {
    const { agent, root, next, assign, start, mark } = await withRoots();
    await assign(agent, root, { config });
    await start();
    const beside = (await desired(agent)).find((each) => each.certificateId === next);
    expect(beside?.config).toEqual(JSON.parse(JSON.stringify({ trustStorePath: "/usr/local/share/ca-certificates", ...expected }).replace("MARK", mark)));
  });

  test("overlap for what is assigned later too, while neither is gone", async () => {
    const { organization, agent, root, next, assign, start, read, events } = await withRoots();
    await start();
    await runRolloutJob();
    expect(await read()).toMatchObject({ total: 0 });
    await assign(agent, root, { config: { alias: "late" } });
    await runRolloutJob();
    expect((await desired(agent)).map((each) => each.certificateId).toSorted()).toEqual([root, next].toSorted());
    expect(await read()).toMatchObject({ total: 1, version: 1 });
    expect(await events("assignment.created")).toMatchObject([{ actor: { type: "server" } }, {}]);
    await runRolloutJob();
    await organization.admin("DELETE", `/certificates/${root}/successor`);
    await assign(agent, root, { config: { alias: "later" } });
    await runRolloutJob();
    expect((await desired(agent)).map((each) => each.certificateId)).toEqual([root, root]);
  });

  test("leave alone what the successor has in that place already; it counts like any other", async () => {
    const { agent, root, next, assign, start, read } = await withRoots();
    await assign(agent, root);
    const own = await assign(agent, next, { applicationId: "own" });
    await start();
    expect((await desired(agent)).find((each) => each.certificateId === next)).toMatchObject({ id: own.id, applicationId: "own", version: 1 });
    expect(await read()).toMatchObject({ total: 1, observed: 0, skipped: 0 });
    await report("installed", agent);
    expect(await read()).toMatchObject({ total: 1, observed: 1 });
    await runRolloutJob();
    expect(await desired(agent)).toHaveLength(2);
  });

  test("stay as they are where one of them is changed: a disabled copy is disabled, a deleted one is not made again", async () => {
    const { organization, agent, root, next, assign, start, read, change } = await withRoots();
    const disabled = await assign(agent, root, { enabled: false, config: { alias: "off" } });
    await assign(agent, root, { config: { alias: "on" } });
    await start();
    expect(await read()).toMatchObject({ total: 1 });
    const { items } = (await organization.member("GET", agent.assignments)).body;
    expect(
      items
        .filter((each: { certificateId: string }) => each.certificateId === next)
        .map((each: { enabled: boolean }) => each.enabled)
        .toSorted(),
    ).toEqual([false, true]);
    await change(disabled.id, { enabled: true });
    const made = (await desired(agent)).find((each) => each.certificateId === next);
    await organization.admin("DELETE", `${agent.assignments}/${made?.id}`);
    await runRolloutJob();
    expect((await desired(agent)).map((each) => each.certificateId)).toEqual([root, root]);
    expect(await read()).toMatchObject({ total: 2, observed: 0, skipped: 2 });
  });

  test("follow each other in a row", async () => {
    const { organization, agent, root, next, assign, start, importRoots } = await withRoots();
    const [third = ""] = await importRoots("Third Root");
    await organization.admin("POST", `/certificates/${next}/successor`, { body: { certificateId: third } });
    await start();
    await assign(agent, root, { config: { alias: "corp" } });
    for (let minute = 0; minute < 4; minute++) await runRolloutJob();
    expect((await desired(agent)).map((each) => each.certificateId).toSorted()).toEqual([root, next, third].toSorted());
  });
});

describe("a rotation with rings", () => {
  test("reaches the canaries first, then everybody else; nobody is left behind", async () => {
    const { organization, agents, root, next, assign, start, read } = await withRoots({ env: "canary" }, { env: "prod" }, {}, { env: "prod" });
    for (const agent of agents) await assign(agent, root, { config: { alias: "corp" } });
    await assign(agents[0] as TestAgent, root, { trustStoreType: "openssl_ca_dir", config: { alias: "corp" } });
    const { id } = await start({ rings: [{ selector: "env=canary" }, { selector: "env=prod", share: 0.5 }] });
    const have = async () => Promise.all(agents.map(async (agent) => (await desired(agent)).filter((each) => each.certificateId === next).length));
    const rings = async () =>
      (await organization.member("GET", `/rollouts/${id}`)).body.rings.map(({ state, agents }: { state: string; agents: number }) => [state, agents]);
    expect([await have(), await rings()]).toEqual([
      [2, 0, 0, 0],
      [
        ["open", 1],
        ["waiting", 1],
        ["waiting", 2],
      ],
    ]);
    expect(await read()).toMatchObject({ total: 5, observed: 0 });
    await report("installed", ...agents);
    await runRolloutJob();
    expect([await have(), await read()]).toMatchObject([[2, 1, 0, 0], { total: 5, observed: 2, version: 2 }]);
    await assign(agents[1] as TestAgent, root, { trustStoreType: "openssl_ca_dir", config: { alias: "late" } });
    await runRolloutJob();
    expect(await have()).toEqual([2, 1, 0, 0]);
    await report("installed", ...agents);
    await runRolloutJob();
    expect(await have()).toEqual([2, 2, 1, 1]);
    await report("installed", ...agents);
    await runRolloutJob();
    expect(await read()).toMatchObject({ total: 6, observed: 6, status: "overlapping" });
    expect(await rings()).toEqual([
      ["done", 1],
      ["done", 1],
      ["done", 3],
    ]);
  });

  test("takes a share of the agents, however many assignments each has", async () => {
    const { organization, agents, root, assign, start } = await withRoots({}, {}, {}, {});
    for (const agent of agents) await assign(agent, root);
    for (const alias of ["a", "b", "c"]) await assign(agents[3] as TestAgent, root, { config: { alias } });
    const { id } = await start({ rings: [{ share: 0.5 }] });
    expect((await organization.member("GET", `/rollouts/${id}`)).body.rings).toMatchObject([{ agents: 2 }, { agents: 2 }]);
  });

  test("halts like any rollout, takes nobody in while it is halted, and goes on when it is resumed", async () => {
    const { organization, agents, root, next, assign, start, read } = await withRoots({ env: "canary" }, { env: "prod" }, { env: "prod" });
    const [canary, prod, late] = agents as unknown as [TestAgent, TestAgent, TestAgent];
    for (const agent of [canary, prod]) await assign(agent, root);
    const { id } = await start({ rings: [{ selector: "env=canary" }], haltShare: 1 });
    await report("failed", canary);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "halted", failed: 1 });
    await assign(late, root);
    await report("installed", canary);
    await runRolloutJob();
    expect((await desired(prod)).map((each) => each.certificateId)).toEqual([root]);
    await organization.admin("POST", `/rollouts/${id}/resume`, { body: {} });
    for (const agent of [prod, late]) expect((await desired(agent)).map((each) => each.certificateId).toSorted()).toEqual([root, next].toSorted());
    expect(await read()).toMatchObject({ status: "overlapping", total: 3, observed: 1, failed: 0 });
  });

  test("copies an assignment as it is when its ring opens", async () => {
    const { organization, agents, root, next, assign, start } = await withRoots({ env: "canary" }, { env: "prod" }, { env: "prod" });
    const [canary, prod, other] = agents as unknown as [TestAgent, TestAgent, TestAgent];
    const [, waiting, gone] = [await assign(canary, root), await assign(prod, root, { config: { alias: "before" } }), await assign(other, root)];
    await start({ rings: [{ selector: "env=canary" }] });
    await organization.admin("PATCH", `${prod.assignments}/${waiting.id}`, { body: { applicationId: "after", config: { alias: null } } });
    await organization.admin("DELETE", `${other.assignments}/${gone.id}`);
    await report("installed", canary);
    await runRolloutJob();
    const beside = (await desired(prod)).find((each) => each.certificateId === next);
    expect(beside).toMatchObject({ applicationId: "after", trustStoreType: TYPE });
    expect(beside?.config.alias).toBeUndefined();
    expect(await desired(other)).toEqual([]);
  });
});
