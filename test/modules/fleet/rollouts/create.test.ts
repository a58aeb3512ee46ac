import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { importWithKey } from "../../../support/server/agents";
import { aRollout, desired, newFleet } from "../../../support/server/fleet";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const PATH = "/rollouts";
const TYPE = "linux_update_ca_certificates";

const withFleet = async () => {
  const fleet = await newFleet({ env: "canary" }, { env: "prod" }, { env: "dev" });
  const [root = ""] = await fleet.importRoots("Example Root");
  const create = (body: object) => fleet.organization.admin("POST", PATH, { body });
  return { ...fleet, root, create };
};

describe("POST /organizations/{organizationId}/rollouts", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    expect((await (await newOrganization()).member("POST", PATH, { body: {} })).status).toBe(403);
  });

  test.each([
    [{ name: undefined }, "body.name is required."],
    [{ name: " " }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ assignment: undefined }, "body.assignment is required."],
    [{ assignment: { applicationId: "x" } }, "body.assignment.certificateId is required."],
    [{ rings: undefined }, "body.rings is required."],
    [{ rings: [] }, "body.rings must be a list of 1 to 20 items."],
    [{ rings: Array.from({ length: 21 }, () => ({})) }, "body.rings must be a list of 1 to 20 items."],
    [{ rings: [{ selector: "env" }, { selector: "env=" }] }, "body.rings.1.selector cannot be read: it ends where a value should be."],
    [{ rings: [{ selector: "ENV=x" }] }, 'body.rings.0.selector names the key "ENV", but a key is'],
    [{ rings: [{ share: 0 }] }, "body.rings.0.share must be a number from 0.0001 to 1."],
    [{ rings: [{ share: 1.1 }] }, "body.rings.0.share must be a number from 0.0001 to 1."],
    [{ rings: [{ share: "0.5" }] }, "body.rings.0.share must be a number from 0.0001 to 1."],
    [{ rings: [{ agents: 5 }] }, "body.rings.0.agents is not a known field."],
    [{ haltShare: 0 }, "body.haltShare must be a number from 0.0001 to 1."],
    [{ successShare: 2 }, "body.successShare must be a number from 0.0001 to 1."],
    [{ enabled: true }, "body.enabled is not a known field."],
  ])("400 for %j", async (change, message) => {
    const { create, root } = await withFleet();
    const { status, body } = await create({ ...aRollout(root), ...change });
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test.each([
    [{ enabled: true }, "body.assignment.enabled is not a known field."],
    [{ trustStoreType: "floppy" }, "body.assignment.trustStoreType must be one of linux_update_ca_certificates, "],
    [{ materialType: "server_certificate" }, `body.assignment.materialType must be one of trust_anchor, intermediate_ca for ${TYPE}.`],
    [{ includePrivateKey: true }, "A trust anchor is public: body.assignment.includePrivateKey must be false where the materialType is trust_anchor."],
    [{ config: { path: "/x" } }, "body.assignment.config.path is not a known field."],
    [{ config: { nodeFlags: ["--use-openssl-ca"] } }, `body.assignment.config.nodeFlags does not apply to ${TYPE}.`],
    [
      { config: { alias: "a/b" } },
      "body.assignment.config.alias must be one plain name, without slashes and control characters, that does not begin with - or @.",
    ],
    [
      { config: { alias: "-J-Xlog:all" } },
      "body.assignment.config.alias must be one plain name, without slashes and control characters, that does not begin with - or @.",
    ],
    [{ trustStoreType: "java_cacerts" }, "body.assignment.config.alias is required for java_cacerts."],
  ])("400 for an assignment with %j, as where one is made alone", async (change, message) => {
    const { create, root } = await withFleet();
    const { status, body } = await create(aRollout(root, change));
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("400 for a certificate that cannot play the part", async () => {
    const { organization, create, root } = await withFleet();
    const [leaf = ""] = await importInto(organization, certificate({ issuer: certificate({ isCa: true }) }).pem);
    expect(await create(aRollout(leaf))).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("body.assignment.certificateId must name a CA") },
    });
    const server = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
    expect(await create(aRollout(leaf, server))).toMatchObject({ status: 400, body: { message: expect.stringContaining("is not stored here") } });
    await organization.admin("POST", `/certificates/${root}/revoke`, { body: {} });
    expect(await create(aRollout(root))).toMatchObject({ status: 400, body: { message: expect.stringContaining("neither revoked nor retired") } });
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("404 for a certificate that is not here or another organization's", async () => {
    const [mine, other] = [await withFleet(), await withFleet()];
    const message = "There is no such certificate in this organization.";
    for (const id of [other.root, crypto.randomUUID(), "nonsense"]) expect(await mine.create(aRollout(id))).toMatchObject({ status: 404, body: { message } });
  });

  test("201 leaves PEM files of another preset beside it, and takes those that have the certificate already as its own", async () => {
    const { organization, agents, root, create, assign } = await withFleet();
    const [canary, prod] = agents;
    const inFiles = (config: object) => ({ trustStoreType: "pem_files", materialType: "server_certificate", config });
    await assign(canary, root, inFiles({ preset: "dovecot" }));
    await assign(prod, root, inFiles({ trustStorePath: "/etc/postfix/tls" }));
    const { status, body } = await create(aRollout(root, inFiles({ preset: "postfix" }), { rings: [{ selector: "env in (canary,prod)" }] }));
    expect([status, body.rings]).toMatchObject([201, [{ agents: 2 }]]);
    const configs = async (agent: typeof canary): Promise<object[]> => (await desired(agent)).map(({ config }) => config);
    expect([await configs(canary), await configs(prod)]).toEqual([[{ preset: "dovecot" }, { preset: "postfix" }], [{ trustStorePath: "/etc/postfix/tls" }]]);
    expect((await organization.admin("POST", `${PATH}/${body.id}/rollback`)).status).toBe(200);
    expect(await configs(prod)).toEqual([{ trustStorePath: "/etc/postfix/tls" }]);
  });

  test("201 with every ring, ETag, Location and an audit event; the first ring's agents have the assignment at once", async () => {
    const { organization, agents, root, create, events } = await withFleet();
    const config = { alias: "example-root" };
    const answer = await create(aRollout(root.toUpperCase(), { config }, { name: " Canaries ", haltShare: 0.25, successShare: 0.9 }));
    const { id } = answer.body;
    const ring = { agents: 1, observed: 0, failed: 0, pending: 1, share: 1 };
    const all = { trustStorePath: "/usr/local/share/ca-certificates", ...config };
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 201,
      body: {
        id: expect.any(String),
        organizationId: organization.id,
        name: "Canaries",
        status: "running",
        reason: null,
        certificateId: root,
        predecessorId: null,
        assignment: {
          applicationId: "payments",
          certificateId: root,
          trustStoreType: TYPE,
          materialType: "trust_anchor",
          includePrivateKey: false,
          config: all,
          autoRenew: true,
        },
        rings: [
          { ...ring, selector: "env=canary", state: "open" },
          { ...ring, selector: "env=prod", state: "waiting" },
        ],
        haltShare: 0.25,
        successShare: 0.9,
        heldSince: null,
        skipped: 0,
        rollback: null,
        version: 1,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}/rollouts/${id}`);
    expect(await desired(agents[0])).toMatchObject([{ certificateId: root, config: all, materialType: "trust_anchor", version: 1 }]);
    for (const agent of agents.slice(1)) expect(await desired(agent)).toEqual([]);
    const requestId = answer.headers.get("x-request-id");
    expect(await events("rollout.created")).toMatchObject([
      { targetType: "rollout", targetId: id, requestId, details: { name: "Canaries", certificateId: root } },
    ]);
    expect(await events("assignment.created")).toMatchObject([{ requestId, details: { rolloutId: id, agentId: agents[0].id, certificateId: root } }]);
  });

  test("201 with a private key that is stored, for those who get it alone", async () => {
    const { organization, agents, create } = await withFleet();
    const { id, privateKeyPem } = await importWithKey(organization);
    const server = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
    expect((await create(aRollout(id, server))).status).toBe(201);
    expect(await desired(agents[0])).toMatchObject([{ certificateId: id, privateKeyPem }]);
    expect(await desired(agents[1])).toEqual([]);
  });

  test("201 leaves alone what an agent has in that place already, and says how many", async () => {
    const { agents, root, create, assign } = await withFleet();
    const own = await assign(agents[0], root, { applicationId: "own" });
    const { status, body } = await create(aRollout(root));
    expect({ status, skipped: body.skipped, agents: body.rings[0].agents }).toEqual({ status: 201, skipped: 1, agents: 1 });
    expect(await desired(agents[0])).toMatchObject([{ id: own.id, applicationId: "own", version: 1 }]);
  });

  test("201, and completed at once, where no ring finds anybody", async () => {
    const { create, root } = await withFleet();
    const { status, body } = await create(aRollout(root, {}, { rings: [{ selector: "env=nowhere" }] }));
    expect({ status, state: body.status, rings: body.rings }).toMatchObject({ status: 201, state: "completed", rings: [{ agents: 0, state: "done" }] });
  });
});

describe("GET /organizations/{organizationId}/rollouts", () => {
  test.each(["?limit=0", "?limit=101", "?cursor=x"])("400 for %s", async (query) => {
    expect((await (await newOrganization()).member("GET", `${PATH}${query}`)).status).toBe(400);
  });

  test("200 pages through the organization's own, the newest first, rotations too", async () => {
    const [{ organization, root, create, importRoots }, other] = [await withFleet(), await withFleet()];
    await other.create(aRollout(other.root));
    const [next = ""] = await importRoots("Next Root");
    const ids = [];
    for (const name of ["a", "b"]) ids.unshift((await create({ ...aRollout(root, { config: { alias: name } }), name })).body.id);
    ids.unshift((await organization.admin("POST", `/certificates/${root}/successor`, { body: { certificateId: next } })).body.id);
    const first = (await organization.member("GET", `${PATH}?limit=2`)).body;
    const rest = (await organization.member("GET", `${PATH}?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...rest.items].map((each: { id: string }) => each.id)).toEqual(ids);
    expect(first.items[0]).toMatchObject({ name: "Rotation of Example Root", predecessorId: root, certificateId: next, assignment: null });
    expect(rest).toMatchObject({
      items: [
        {
          name: "a",
          rings: [
            { selector: "env=canary", share: 1 },
            { selector: "env=prod", share: 1 },
          ],
        },
      ],
      nextCursor: null,
    });
  });
});

describe("GET /organizations/{organizationId}/rollouts/{rolloutId}", () => {
  test("404 for what is not here or another organization's", async () => {
    const [mine, other] = [await withFleet(), await withFleet()];
    const { body } = await other.create(aRollout(other.root));
    for (const id of [body.id, crypto.randomUUID(), "nonsense"]) expect((await mine.organization.member("GET", `${PATH}/${id}`)).status).toBe(404);
  });

  test("200 as it was created, with its ETag", async () => {
    const { organization, create, root } = await withFleet();
    const { body } = await create(aRollout(root));
    const answer = await organization.member("GET", `${PATH}/${body.id}`);
    expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([200, body, readTag(1)]);
  });
});
