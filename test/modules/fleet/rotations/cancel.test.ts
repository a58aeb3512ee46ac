import { beforeEach, describe, expect, test } from "bun:test";
import { importWithKey } from "../../../support/server/agents";
import { deactivateOtherRollouts, desired, newFleet, runRolloutJob, type TestAgent } from "../../../support/server/fleet";

beforeEach(deactivateOtherRollouts);

const SERVER = { trustStoreType: "nginx_tls", materialType: "server_certificate", config: { trustStorePath: "/etc/nginx/tls" } };

async function withRotation(rest: object = {}) {
  const fleet = await newFleet({ env: "canary" }, {});
  const { organization } = fleet;
  const [old, next] = [(await importWithKey(organization)).id, (await importWithKey(organization)).id];
  const [first, second] = fleet.agents;
  const leaf = await fleet.assign(first, old, SERVER);
  for (const agent of fleet.agents) await fleet.assign(agent, old, { config: { alias: "self" } });
  const path = `/certificates/${old}/successor`;
  const start = async () => (await organization.admin("POST", path, { body: { certificateId: next, ...rest } })).status;
  await start();
  const read = async () => (await organization.member("GET", path)).body;
  const cancel = (tag?: string) => organization.admin("DELETE", path, tag ? { headers: { "if-match": tag } } : {});
  return { ...fleet, first, second, old, next, leaf, path, start, read, cancel };
}

const bound = async (agent: TestAgent) => (await desired(agent)).map((each) => each.certificateId).toSorted();

describe("DELETE /organizations/{organizationId}/certificates/{certificateId}/successor", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withRotation();
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test("404 without a rotation, and for another organization's", async () => {
    const [{ organization, next }, other] = [await withRotation(), await withRotation()];
    for (const path of [`/certificates/${next}/successor`, other.path, "/certificates/nonsense/successor"])
      expect((await organization.admin("DELETE", path)).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { cancel, read, first } = await withRotation();
    const before = [await read(), await bound(first)];
    expect(await cancel('"2"')).toMatchObject({ status: 412, body: {} });
    expect([await read(), await bound(first)]).toEqual(before);
  });

  test("409 the second time, and once the certificate is retired: nothing would be left", async () => {
    const { organization, old, next, first, cancel, start } = await withRotation();
    await cancel();
    expect(await cancel()).toMatchObject({ status: 409, body: {} });
    await start();
    await organization.admin("DELETE", `/certificates/${old}`);
    expect(await cancel()).toMatchObject({ status: 409, body: {} });
    expect(await bound(first)).toEqual([next, next]);
  });

  test("204 takes the successor from everywhere: the copies go, and the leaf has the old one again", async () => {
    const { organization, first, second, old, next, leaf, read, cancel, events } = await withRotation();
    expect(await bound(first)).toEqual([old, next, next].toSorted());
    const answer = await cancel('"1"');
    expect(answer).toMatchObject({ status: 204, body: "" });
    expect([await bound(first), await bound(second)]).toEqual([[old, old], [old]]);
    expect((await organization.member("GET", `${first.assignments}/${leaf.id}`)).body).toMatchObject({ certificateId: old, version: 3 });
    expect(await read()).toMatchObject({ status: "cancelled", observed: 0, version: 2 });
    const requestId = answer.headers.get("x-request-id");
    expect(await events("rollout.rolling-back")).toMatchObject([{ requestId }]);
    expect((await events("assignment.updated"))[0]).toMatchObject({ requestId, targetId: leaf.id, details: { changes: { certificateId: { to: old } } } });
    await runRolloutJob();
    expect(await bound(second)).toEqual([old]);
  });

  test("204 leaves a leaf with the successor where the old one has got the place meanwhile", async () => {
    const { first, old, next, assign, cancel } = await withRotation({ rings: [{ selector: "env=canary" }] });
    await assign(first, old, { ...SERVER, autoRenew: false });
    expect((await cancel()).status).toBe(204);
    expect(await bound(first)).toEqual([old, old, next].toSorted());
  });

  test("204 while rings wait: they never open", async () => {
    const { second, old, cancel } = await withRotation({ rings: [{ selector: "env=canary" }] });
    await cancel();
    await runRolloutJob();
    expect(await bound(second)).toEqual([old]);
  });

  test("204, and there may be another rotation then", async () => {
    const { first, old, next, cancel, start, read } = await withRotation();
    await cancel();
    expect(await start()).toBe(201);
    expect(await bound(first)).toEqual([old, next, next].toSorted());
    expect((await read()).status).toBe("overlapping");
  });

  test("204 for one of ten at once, 409 for the others", async () => {
    const { cancel, first, old } = await withRotation();
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel()));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, ...Array.from({ length: 9 }, () => 409)]);
    expect(await bound(first)).toEqual([old, old]);
  });
});
