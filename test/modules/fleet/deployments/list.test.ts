import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newFleet, report } from "../../../support/server/fleet";
import { prepare } from "../../../support/server/prepare";
import { scansOf, statementsDuring } from "../../../support/server/statements";

setDefaultTimeout(300_000);

const PATH = "/deployments";

async function withDeployments() {
  const fleet = await newFleet({ env: "prod" }, { env: "prod", tier: "edge" }, { env: "dev" });
  const [first = "", second = ""] = await fleet.importRoots("First Root", "Second Root");
  const [a, b, c] = fleet.agents;
  const made = {
    one: await fleet.assign(a, first),
    two: await fleet.assign(a, second, { trustStoreType: "openssl_ca_dir" }),
    three: await fleet.assign(b, first, { trustStoreType: "openssl_ca_dir" }),
    four: await fleet.assign(c, second),
  };
  await report("installed", a);
  await report("failed", b);
  const list = async (query = "") => (await fleet.organization.member("GET", `${PATH}?limit=100${query}`)).body.items;
  const ids = async (query = "") => (await list(query)).map((each: { assignmentId: string }) => each.assignmentId);
  return { ...fleet, first, second, made, list, ids };
}

describe("GET /organizations/{organizationId}/deployments", () => {
  test.each([
    ["state=gone", "query.state must be one of pending, installed"],
    ["store=floppy", "query.store must be one of linux_update_ca_certificates, "],
    ["selector=env%3D", "query.selector cannot be read: it ends where a value should be."],
    ["certificateId=x", "query.certificateId must be a UUID"],
    ["agentId=x", "query.agentId must be a UUID"],
    ["cursor=x", "query.cursor must be the nextCursor of an earlier answer."],
  ])("400 for %s", async (query, message) => {
    const { organization } = await newFleet();
    const { status, body } = await organization.member("GET", `${PATH}?${query}`);
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("200 every assignment with what its agent reported, by agent and there the oldest first", async () => {
    const { agents, made, first, list } = await withDeployments();
    const items = await list();
    expect(items.map((each: { assignmentId: string }) => each.assignmentId)).toEqual([made.one.id, made.two.id, made.three.id, made.four.id]);
    expect(items[0]).toEqual({
      assignmentId: made.one.id,
      agentId: agents[0].id,
      agentName: "host-0",
      certificateId: first,
      commonName: "First Root",
      applicationId: "payments",
      trustStoreType: "linux_update_ca_certificates",
      enabled: true,
      policyId: null,
      removingSince: null,
      version: 1,
      state: "installed",
      isAdrift: false,
      message: null,
      reportedAt: expect.any(String),
      observedAt: null,
      updatedAt: made.one.updatedAt,
      heldSince: null,
    });
    expect(items[2]).toMatchObject({ state: "failed", isAdrift: true, message: "no space left on device" });
    expect(items[3]).toMatchObject({ state: "pending", isAdrift: true, reportedAt: null });
  });

  test("200 what is removing too, with since when, until its agent says that it is gone", async () => {
    const { organization, agents, made, list } = await withDeployments();
    const [a] = agents;
    expect((await organization.admin("DELETE", `/agents/${a.id}/assignments/${made.one.id}`)).status).toBe(202);
    expect((await list("&state=installed"))[0]).toMatchObject({ assignmentId: made.one.id, enabled: false, removingSince: expect.any(String) });
    await a.call("POST", "/agent/reports", { body: { reports: [{ assignmentId: made.one.id, state: "removed" }] } });
    expect((await list()).map((each: { assignmentId: string }) => each.assignmentId)).toEqual([made.two.id, made.three.id, made.four.id]);
  });

  test("200 what each filter asks for, alone and together", async () => {
    const { agents, made, first, second, ids } = await withDeployments();
    const { one, two, three, four } = made;
    const cases: [query: string, expected: { id: string }[]][] = [
      ["&state=installed", [one, two]],
      ["&state=failed", [three]],
      ["&state=pending", [four]],
      ["&state=refused", []],
      ["&store=openssl_ca_dir", [two, three]],
      [`&certificateId=${first}`, [one, three]],
      [`&agentId=${agents[0].id.toUpperCase()}`, [one, two]],
      ["&selector=env%3Dprod", [one, two, three]],
      ["&selector=env%3Dprod,!tier", [one, two]],
      ["&selector=env%3Dprod&state=failed", [three]],
      [`&selector=env%3Ddev&certificateId=${second}`, [four]],
      [`&selector=env%3Ddev&agentId=${agents[0].id}`, []],
      [`&store=openssl_ca_dir&state=installed&certificateId=${second}&agentId=${agents[0].id}`, [two]],
    ];
    for (const [query, expected] of cases) expect({ query, ids: await ids(query) }).toEqual({ query, ids: expected.map((each) => each.id) });
  });

  test("200 page by page, also where a page ends within an agent; another organization's are not among them", async () => {
    const { organization, ids } = await withDeployments();
    await withDeployments();
    for (const query of ["", "&selector=env", "&state=installed", "&store=openssl_ca_dir"]) {
      const all = await ids(query);
      const paged: string[] = [];
      let cursor = "";
      do {
        const { body } = await organization.member("GET", `${PATH}?limit=1${query}${cursor}`);
        expect(body.items.length).toBeLessThanOrEqual(1);
        paged.push(...body.items.map((each: { assignmentId: string }) => each.assignmentId));
        cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
      } while (cursor !== "");
      expect({ query, paged }).toEqual({ query, paged: all });
    }
  });
});

describe("among many", () => {
  const MANY = 2_000;
  let fleet: Awaited<ReturnType<typeof withDeployments>>;
  beforeAll(async () => {
    fleet = await withDeployments();
    const { organization, first } = fleet;
    await prepare(async (tx) => {
      await tx`
        with agent as (
          insert into agents (organization_id, id, name, labels, token_hash)
          select ${organization.id}, new_id(), 'host', '{"env": "prod"}', sha256((${organization.id} || i)::bytea) from generate_series(1, ${MANY}::int) i returning id)
        insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
          config, target, auto_renew, enabled, reported_state, reported_at)
        select ${organization.id}, new_id(), id, ${first}, 'shop', store, 'trust_anchor', false, '{}', store, true, true, 'installed', now()
        from agent, unnest(array['linux_update_ca_certificates', 'curl_ca_bundle']) as store`;
    });
    await prepare((sql) => sql.unsafe("analyze agents, assignments"));
  });

  test.each([
    ["no filter", ""],
    ["a state", "state=failed"],
    ["a common state", "state=installed"],
    ["a store", "store=openssl_ca_dir"],
    ["a certificate", "certificateId"],
    ["an agent", "agentId"],
    ["a selector", "selector=tier"],
    ["a selector and a state", "selector=tier&state=failed"],
  ])("%s: the assignments are read from an index, in its order", async (_, query) => {
    const values: Record<string, string> = { certificateId: fleet.second, agentId: fleet.agents[0].id };
    const asked = query in values ? `${query}=${values[query]}` : query;
    const statements = await statementsDuring(() => fleet.organization.member("GET", `${PATH}?${asked}`));
    const scans = (await Promise.all(statements.map(scansOf))).flat().filter((each) => / on assignments\b/.test(each));
    expect(scans.length).toBeGreaterThan(0);
    expect(scans.filter((each) => !/^Index( Only)? Scan/.test(each))).toEqual([]);
  });
});
