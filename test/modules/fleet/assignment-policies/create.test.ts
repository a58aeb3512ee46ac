import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { runPolicyJob } from "../../../support/server/fleet";
import { newOrganization } from "../../../support/server/people";
import { aPolicy, inFiles, PATH, TYPE, withPolicies } from "./policies";

describe("POST /organizations/{organizationId}/assignment-policies", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    expect((await (await newOrganization()).member("POST", PATH, { body: {} })).status).toBe(403);
  });

  test.each([
    [{ selector: undefined }, "body.selector is required."],
    [{ selector: "env" + "=" }, "body.selector cannot be read: it ends where a value should be."],
    [{ selector: "ENV=x" }, 'body.selector names the key "ENV", but a key is'],
    [{ name: " " }, "body.name must be text of 1 to 120 characters, without NUL."],
    [{ applicationId: undefined }, "body.applicationId is required."],
    [{ trustStoreType: "floppy" }, "body.trustStoreType must be one of linux_update_ca_certificates, "],
    [{ trustStoreType: "java_cacerts", config: {} }, "body.config.alias is required for java_cacerts."],
    [
      { trustStoreType: "java_cacerts", config: { alias: "-J-Xlog:all" } },
      "body.config.alias must be one plain name, without slashes and control characters, that does not begin with - or @.",
    ],
    [{ includePrivateKey: true }, "A trust anchor is public: body.includePrivateKey must be false"],
    [{ rings: [] }, "body.rings must be a list of 1 to 20 items."],
    [{ rings: [{ selector: "env=" }] }, "body.rings.0.selector cannot be read"],
    [{ rings: [{}], enabled: false }, "body.enabled must be true where there are rings."],
    [{ agents: 5 }, "body.agents is not a known field."],
  ])("400 for %j", async (change, message) => {
    const { create, root } = await withPolicies();
    const { status, body } = await create({ ...aPolicy(root), ...change });
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("400 for a certificate that cannot play the part, 404 for one that is not here", async () => {
    const { organization, create } = await withPolicies();
    const [leaf = ""] = await importInto(organization, certificate({ issuer: certificate({ isCa: true }) }).pem);
    expect(await create(aPolicy(leaf))).toMatchObject({ status: 400, body: { message: expect.stringContaining("body.certificateId must name a CA") } });
    for (const id of [crypto.randomUUID(), "nonsense"])
      expect(await create(aPolicy(id))).toMatchObject({ status: 404, body: { message: "There is no such certificate in this organization." } });
  });

  test("201 with ETag, Location and events; every agent that matches has the assignment at once, and no other", async () => {
    const { organization, agents, root, create, installed, events } = await withPolicies();
    const answer = await create(aPolicy(root.toUpperCase(), { name: " Roots " }));
    const { id } = answer.body;
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 201,
      body: {
        id: expect.any(String),
        organizationId: organization.id,
        name: "Roots",
        selector: "env=prod",
        applicationId: "payments",
        certificateId: root,
        trustStoreType: TYPE,
        materialType: "trust_anchor",
        includePrivateKey: false,
        config: { trustStorePath: "/usr/local/share/ca-certificates", alias: "root" },
        autoRenew: true,
        enabled: true,
        state: "applied",
        rolloutId: null,
        heldSince: null,
        agents: 2,
        conflicts: { total: 0, items: [] },
        version: 1,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${PATH}/${id}`);
    expect(await installed()).toEqual([[root], [root], []]);
    const [made] = (await organization.member("GET", agents[0].assignments)).body.items;
    expect(made).toMatchObject({ policyId: id, certificateId: root, version: 1 });
    expect(await events("assignment-policy.created")).toMatchObject([{ targetId: id, details: { name: "Roots", selector: "env=prod", certificateId: root } }]);
    expect((await events("assignment.created")).map((each: { details: object }) => each.details)).toEqual([
      expect.objectContaining({ policyId: id, certificateId: root }),
      expect.objectContaining({ policyId: id, certificateId: root }),
    ]);
  });

  test.each([
    ["nobody", "env=moon", [[], [], []]],
    ["everybody", null, [["root"], ["root"], ["root"]]],
    ["whom it does not exclude", "env!=prod", [[], [], ["root"]]],
  ] as const)("201 for a selector that matches %s", async (_, selector, expected) => {
    const { root, make, installed } = await withPolicies();
    expect(await make(aPolicy(root, { selector }))).toMatchObject({ selector, agents: expected.flat().length });
    expect(await installed()).toEqual(expected.map((each) => each.map(() => root)));
  });

  test("200 in a dry run counts them, and nothing changes", async () => {
    const { organization, agents, root, other, create, assign, installed } = await withPolicies();
    const single = await assign(agents[1], other, { config: { alias: "root" } });
    const { status, body } = await create(aPolicy(root, { selector: null, dryRun: true }));
    const conflict = { agentId: agents[1].id, agentName: "host-1", assignmentId: single.id, policyId: null };
    expect({ status, body }).toEqual({ status: 200, body: { agents: 2, conflicts: { total: 1, items: [conflict] } } });
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
    expect(await installed()).toEqual([[], [other], []]);
  });

  test("409 names the assignment that has the place, and no agent gets anything", async () => {
    const { organization, agents, root, other, create, assign, installed } = await withPolicies();
    const { id } = await assign(agents[1], other, { config: { alias: "root" } });
    const { status, body } = await create(aPolicy(root, { name: "Roots" }));
    const message = `On one agent the place of the policy "Roots" is taken: on host-1 (${agents[1].id}) by the assignment ${id}. Delete what is there, or choose another selector or place.`;
    expect({ status, body }).toEqual({ status: 409, body: { message } });
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
    expect(await installed()).toEqual([[], [other], []]);
  });

  test("409 names both policies for one place, where an agent matches both or their selectors are the same", async () => {
    const { agents, root, other, make, create, installed } = await withPolicies();
    const first = await make(aPolicy(root, { name: "First" }));
    const overlapping = await create(aPolicy(other, { name: "Second", selector: "env in (prod,dev)" }));
    expect(overlapping).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining(
          `On 2 agents the place of the policy "Second" is taken: on host-0 (${agents[0].id}) by the policy "First" (${first.id});`,
        ),
      },
    });
    expect((await create(aPolicy(other, { selector: "env=dev" }))).status).toBe(201);
    await make(aPolicy(other, { name: "Third", selector: "env=moon" }));
    const twin = await create(aPolicy(root, { name: "Fourth", selector: "env=moon" }));
    expect(twin).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/^The policy "Third" \(.*\) has the selector and the place of the policy "Fourth"\./) },
    });
    expect(await installed()).toEqual([[root], [root], [other]]);
  });

  test("409 for a policy whose place another one is about to take, though it has not come to the agent yet", async () => {
    const { organization, agents, root, other, make, create } = await withPolicies();
    await make(aPolicy(root, { selector: "tier=edge" }));
    await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds: [agents[0].id], set: { tier: "edge" } } });
    expect((await create(aPolicy(other))).status).toBe(409);
    await runPolicyJob();
    expect((await create(aPolicy(other))).status).toBe(409);
  });

  test("201 for PEM files of several presets on one agent, whatever comes first; 409 for one that has its place", async () => {
    const { organization, agents, root, other, make, create, assign, patch, enrol, installed } = await withPolicies();
    await assign(agents[0], root, inFiles({ preset: "slapd" }));
    await make(aPolicy(root, inFiles({ preset: "postfix" })));
    const { id } = await make(aPolicy(root, inFiles({ preset: "dovecot" })));
    for (const preset of ["slapd", "postfix", "dovecot"]) expect((await create(aPolicy(other, inFiles({ preset })))).status).toBe(409);
    expect((await create(aPolicy(other, inFiles({ trustStorePath: "/etc/postfix/tls" })))).status).toBe(409);
    expect((await patch(id, { config: { preset: "postfix" } })).status).toBe(409);
    const late = await enrol({ env: "prod" });
    expect(await installed(agents[0], agents[1], late)).toEqual([
      [root, root, root],
      [root, root],
      [root, root],
    ]);
    expect((await patch(id, { config: { preset: "squid" } })).status).toBe(200);
    const presets = (await organization.member("GET", `/agents/${late.id}/assignments`)).body.items.map(
      (each: { config: { preset: string } }) => each.config.preset,
    );
    expect(presets.toSorted()).toEqual(["postfix", "squid"]);
  });

  test("201 for several policies at places of their own on one agent", async () => {
    const { root, other, make, installed } = await withPolicies();
    await make(aPolicy(root));
    await make(aPolicy(other, { config: { alias: "other" } }));
    await make(aPolicy(root, { trustStoreType: "openssl_ca_dir", config: {} }));
    await make(aPolicy(other, { trustStoreType: "openssl_ca_dir", config: {} }));
    expect(await installed()).toEqual([[root, other, root, other], [root, other, root, other], []]);
  });
});
