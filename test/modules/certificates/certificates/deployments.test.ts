import { describe, expect, test } from "bun:test";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { scansOf, statementsDuring } from "../../../support/server/statements";
import { world } from "../../../support/server/world";

/** A root that so many agents hold, made at once. */
async function deployedOn(count: number) {
  const organization = await newOrganization();
  const certificateId = await importRoot(organization);
  const agent = await newAgent(organization);
  await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId) });
  await world.sql`
    with agent as (
      insert into agents (organization_id, id, name, token_hash)
      select ${organization.id}, new_id(), 'host', sha256((${organization.id} || i)::bytea) from generate_series(2, ${count}::int) i returning id)
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
      config, target, auto_renew, enabled)
    select ${organization.id}, new_id(), id, ${certificateId}, 'shop', 'linux_update_ca_certificates', 'trust_anchor', false, '{}', '', true, true from agent`;
  const list = (query = "") => organization.member("GET", `/certificates/${certificateId}/deployments${query}`);
  return { organization, certificateId, list };
}

describe("GET /organizations/{organizationId}/certificates/{certificateId}/deployments", () => {
  test("404 for what is no certificate of the organization", async () => {
    const [{ list, certificateId }, other] = [await deployedOn(1), await newOrganization()];
    for (const id of [crypto.randomUUID(), "x"]) expect((await other.member("GET", `/certificates/${id}/deployments`)).status).toBe(404);
    expect((await other.member("GET", `/certificates/${certificateId}/deployments`)).status).toBe(404);
    expect((await list("?limit=0")).status).toBe(400);
  });

  test("200 without any for one that lies nowhere", async () => {
    const organization = await newOrganization();
    const { body } = await organization.member("GET", `/certificates/${await importRoot(organization)}/deployments`);
    expect(body).toEqual({ items: [], nextCursor: null });
  });

  test("200 with every one, page by page, found by the index", async () => {
    const { list } = await deployedOn(250);
    const ids: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await list(`?limit=100${cursor && `&cursor=${cursor}`}`);
      ids.push(...body.items.map((each: { assignmentId: string }) => each.assignmentId));
      if (!body.nextCursor) break;
      cursor = body.nextCursor;
    }
    expect([ids.length, new Set(ids).size]).toEqual([250, 250]);
    await world.sql`analyze assignments`;
    const [statement] = await statementsDuring(() => list("?limit=10"));
    const scans = statement ? await scansOf(statement) : [];
    expect(scans.filter((each) => each.includes("assignments"))).toEqual([
      expect.stringMatching(/^Index Scan using assignments_organization_id_certificate_id_id_index/),
    ]);
  });
});

describe("GET /portal/organizations/{organizationId}/certificates/{certificateId}", () => {
  test("200 with the number of its deployments and the oldest thousand", async () => {
    const { organization, certificateId, list } = await deployedOn(1_002);
    const member = await organization.join();
    const { body } = await member.call("GET", `/portal/organizations/${organization.id}/certificates/${certificateId}`);
    expect([body.deploymentCount, body.deployments.length]).toEqual([1_002, 1_000]);
    expect(body.deployments.slice(0, 20)).toEqual((await list()).body.items);
  });
});
