import { afterAll, describe, expect, test } from "bun:test";
import { issue, newAuthority, newHierarchy, rootBody } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();

describe("PATCH authority", () => {
  test("400 for a profile that is wrong, 404 for another's, 412 for a stale version", async () => {
    const made = await newAuthority(organization, rootBody);
    const patch = (body: object, headers = {}) => organization.admin("PATCH", `/authorities/${made.id}`, { body, headers });
    expect((await patch({ profiles: [{ name: "a", usage: "server", allowedDomains: ["-"] }] })).body.message).toContain("body.profiles.0.allowedDomains");
    expect((await patch({ name: "B" }, { "if-match": '"9"' })).status).toBe(412);
    const other = await newOrganization();
    expect((await other.admin("PATCH", `/authorities/${made.id}`, { body: { name: "B" } })).status).toBe(404);
  });

  test("200 changes what is named, once; the trail names the fields", async () => {
    const made = await newAuthority(organization, rootBody);
    const body = { name: "Renamed", enabled: false, profiles: [{ name: "web", usage: "server", allowsWildcards: true }], publicUrl: "http://pki.example.com/" };
    const changed = await organization.admin("PATCH", `/authorities/${made.id}`, { body });
    expect(changed.body).toMatchObject({
      name: "Renamed",
      status: "disabled",
      publicUrl: "http://pki.example.com",
      crlUrl: `http://pki.example.com/pki/${made.id}/crl`,
      version: 2,
    });
    expect((await organization.admin("PATCH", `/authorities/${made.id}`, { body })).body.version).toBe(2);
    const [event] = (await organization.admin("GET", `/audit-events?action=authority.updated&targetId=${made.id}`)).body.items;
    expect(event.details.changed.toSorted()).toEqual(["enabled", "name", "profiles", "publicUrl"]);
  });
});

describe("DELETE authority", () => {
  test("409 while one is below it or its certificates have not expired; 204 with its key and what it published", async () => {
    const own = await newOrganization();
    const { root, issuing } = await newHierarchy(own);
    await issue(openssl, own, issuing);
    const remove = (id: string) => own.admin("DELETE", `/authorities/${id}`);
    expect((await remove(root.id)).body.message).toContain('"Issuing CA" is below it');
    expect((await remove(issuing.id)).body.message).toContain("Not all its certificates have expired");
    await world.sql`update issued_certificates set not_after = now() where authority_id = ${issuing.id}`;
    expect((await remove(issuing.id)).status).toBe(204);
    expect((await remove(root.id)).status).toBe(204);
    expect((await remove(root.id)).status).toBe(404);
    for (const table of ["authorities", "authority_publications", "issued_certificates"])
      expect([...(await world.sql.unsafe(`select from ${table} where organization_id = '${own.id}'`))]).toEqual([]);
    expect((await fetch(`${world.url}/pki/${issuing.id}/crl`)).status).toBe(404);
    expect((await own.admin("GET", `/certificates/${root.certificateId}`)).status).toBe(200);
  });
});
