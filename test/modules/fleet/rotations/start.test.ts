import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { importWithKey } from "../../../support/server/agents";
import { desired, newFleet } from "../../../support/server/fleet";
import { readTag } from "../../../support/server/tags";

const SERVER = { trustStoreType: "nginx_tls", materialType: "server_certificate", config: { trustStorePath: "/etc/nginx/tls" } };

const withRoots = async () => {
  const fleet = await newFleet({}, {});
  const [root = "", next = ""] = await fleet.importRoots("Old Root", "New Root");
  const path = `/certificates/${root}/successor`;
  const start = (body: object) => fleet.organization.admin("POST", path, { body });
  return { ...fleet, root, next, path, start };
};

describe("POST /organizations/{organizationId}/certificates/{certificateId}/successor", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    const { organization, path } = await withRoots();
    expect((await organization.member("POST", path, { body: {} })).status).toBe(403);
  });

  test.each([
    [{ certificateId: undefined }, "body.certificateId is required."],
    [{ certificateId: 5 }, "body.certificateId must be text of 1 to 200 characters, without NUL."],
    [{ retire: {} }, "body.retire.share is required."],
    [{ retire: { share: 1 } }, "body.retire.holdSeconds is required."],
    [{ retire: { share: 0, holdSeconds: 0 } }, "body.retire.share must be a number from 0.0001 to 1."],
    [{ retire: { share: 1, holdSeconds: -1 } }, "body.retire.holdSeconds must be a whole number from 0 to 31536000."],
    [{ retire: { share: 1, holdSeconds: 0.5 } }, "body.retire.holdSeconds must be a whole number from 0 to 31536000."],
    [{ retire: null }, "body.retire must be an object."],
    [{ rings: [] }, "body.rings must be a list of 1 to 20 items."],
    [{ rings: [{ selector: "env=" }] }, "body.rings.0.selector cannot be read: it ends where a value should be."],
    [{ haltShare: 2 }, "body.haltShare must be a number from 0.0001 to 1."],
    [{ successorId: "x" }, "body.successorId is not a known field."],
  ])("400 for %j", async (change, message) => {
    const { start, next } = await withRoots();
    const { status, body } = await start({ certificateId: next, ...change });
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("400 for a successor that cannot be one", async () => {
    const { organization, agents, root, next, start, assign, importRoots } = await withRoots();
    await assign(agents[0], root);
    const [retired = "", revoked = ""] = await importRoots("Retired", "Revoked");
    await organization.admin("DELETE", `/certificates/${retired}`);
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    const leaf = certificate({ issuer: certificate({ isCa: true }) });
    const expired = certificate({ isCa: true, from: -9, days: -1 });
    const [leafId = "", expiredId = ""] = await importInto(organization, leaf.pem, expired.pem);
    for (const [id, message] of [
      [root, "body.certificateId must name another certificate than the path."],
      [root.toUpperCase(), "body.certificateId must name another certificate than the path."],
      [retired, "body.certificateId must name a certificate that is neither expired, revoked nor retired."],
      [revoked, "body.certificateId must name a certificate that is neither expired, revoked nor retired."],
      [expiredId, "body.certificateId must name a certificate that is neither expired, revoked nor retired."],
      [leafId, "body.certificateId must name a CA certificate, or a self-signed one, because the other one is a trust anchor or intermediate somewhere."],
    ])
      expect(await start({ certificateId: id })).toMatchObject({ status: 400, body: { message } });
    expect((await start({ certificateId: next })).status).toBe(201);
  });

  test("400 for a successor without the private key that an assignment includes, unless that one is not renewed", async () => {
    const { organization, agents, assign } = await withRoots();
    const { id } = await importWithKey(organization);
    const [keyless = ""] = await importInto(organization, certificate().pem);
    const included = await assign(agents[0], id, { ...SERVER, includePrivateKey: true });
    const start = () => organization.admin("POST", `/certificates/${id}/successor`, { body: { certificateId: keyless } });
    expect(await start()).toMatchObject({ status: 400, body: { message: expect.stringContaining("whose private key is stored here") } });
    await organization.admin("PATCH", `${agents[0].assignments}/${included.id}`, { body: { autoRenew: false } });
    expect(await start()).toMatchObject({ status: 201, body: { total: 1, skipped: 1 } });
  });

  test("400 where certificates would succeed each other in a circle", async () => {
    const { organization, root, next, start, importRoots } = await withRoots();
    const [third = ""] = await importRoots("Third Root");
    await start({ certificateId: next });
    const after = (id: string, certificateId: string) => organization.admin("POST", `/certificates/${id}/successor`, { body: { certificateId } });
    expect((await after(next, third)).status).toBe(201);
    const message = "body.certificateId must not name a certificate that the one in the path is a successor of.";
    expect(await after(third, root)).toMatchObject({ status: 400, body: { message } });
    await organization.admin("DELETE", `/certificates/${next}/successor`);
    expect(await after(next, root)).toMatchObject({ status: 400, body: { message } });
    expect((await after(third, root)).status).toBe(201);
  });

  test("404 for certificates that are not here or another organization's", async () => {
    const [mine, other] = [await withRoots(), await withRoots()];
    const message = "There is no such certificate in this organization.";
    for (const id of [other.next, crypto.randomUUID(), "nonsense"]) {
      expect(await mine.start({ certificateId: id })).toMatchObject({ status: 404, body: { message } });
      const path = `/certificates/${id}/successor`;
      expect(await mine.organization.admin("POST", path, { body: { certificateId: mine.next } })).toMatchObject({ status: 404, body: { message } });
    }
  });

  test("409 for a certificate that is revoked or retired", async () => {
    const { organization, root, next, start } = await withRoots();
    await organization.admin("DELETE", `/certificates/${root}`);
    expect(await start({ certificateId: next })).toMatchObject({ status: 409, body: {} });
  });

  test("201 for one of twenty at once, 409 for the others, and one audit event", async () => {
    const { agents, root, next, assign, start, events } = await withRoots();
    await assign(agents[0], root);
    const answers = await Promise.all(Array.from({ length: 20 }, () => start({ certificateId: next })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    expect(await events("rollout.created")).toHaveLength(1);
    expect(await desired(agents[0])).toHaveLength(2);
  });

  test("201 with the progress, ETag, Location and audit events", async () => {
    const { organization, agents, root, next, assign, start, events } = await withRoots();
    for (const agent of agents) await assign(agent, root);
    const answer = await start({ certificateId: next, retire: { share: 0.5, holdSeconds: 60 } });
    const { id } = answer.body;
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 201,
      body: {
        id: expect.any(String),
        organizationId: organization.id,
        certificateId: root,
        successorId: next,
        status: "overlapping",
        total: 2,
        observed: 0,
        failed: 0,
        skipped: 0,
        share: 0,
        retire: { share: 0.5, holdSeconds: 60 },
        reachedAt: null,
        retiredAt: null,
        version: 1,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}/certificates/${root}/successor`);
    const requestId = answer.headers.get("x-request-id");
    expect(await events("rollout.created")).toMatchObject([{ targetId: id, requestId, details: { certificateId: next, predecessorId: root } }]);
    expect((await events("assignment.created")).slice(0, 2)).toMatchObject([
      { requestId, details: { rolloutId: id } },
      { requestId, details: { rolloutId: id } },
    ]);
  });

  test("201 for a certificate that is nowhere yet, and what comes later is picked up", async () => {
    const { start, next } = await withRoots();
    expect(await start({ certificateId: next })).toMatchObject({ status: 201, body: { total: 0, observed: 0, share: null, retire: null } });
  });
});

describe("GET /organizations/{organizationId}/certificates/{certificateId}/successor", () => {
  test("404 without a rotation, and for another organization's", async () => {
    const [mine, other] = [await withRoots(), await withRoots()];
    await other.start({ certificateId: other.next });
    for (const path of [mine.path, other.path, "/certificates/nonsense/successor"]) expect((await mine.organization.member("GET", path)).status).toBe(404);
  });

  test("200 as it was started, with its ETag; its rollout has the same id and the rings", async () => {
    const { organization, start, next, path } = await withRoots();
    const { body } = await start({ certificateId: next, rings: [{ selector: "env=canary", share: 0.5 }] });
    const answer = await organization.member("GET", path);
    expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([200, body, readTag(1)]);
    const rings = [
      { selector: "env=canary", share: 0.5 },
      { selector: null, share: 1 },
    ];
    expect((await organization.member("GET", `/rollouts/${body.id}`)).body).toMatchObject({ rings, assignment: null });
  });
});
