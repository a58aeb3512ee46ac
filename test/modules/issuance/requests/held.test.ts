import { afterAll, describe, expect, test } from "bun:test";
import { trustForAdministrator } from "#maintenance/stamping";
import { UNPROVEN_ISSUER } from "#modules/issuance/issuers/queries/issuers";
import { UNPROVEN_REQUEST } from "#modules/issuance/requests/queries/asked-keys";
import { certificate } from "../../../support/pki/certificates";
import { newCsr } from "../../../support/pki/csr";
import { issue, newHierarchy } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { authority } from "../issuers/issuers";
import { renew } from "../renewals/renewals";
import { issued, newSetting, PATH, work } from "./requests";

const { sql } = world;
const openssl = newOpenssl();
afterAll(openssl.remove);
const trust = () => trustForAdministrator(sql, world.config.keyring, () => {});
const outcome = ({ status, reason }: { status: string; reason: string | null }) => ({ status, reason });

/** A setting that notes what its issuer is asked for. */
async function watched() {
  const asked: string[] = [];
  const setting = await newSetting((issuing) => {
    asked.push(...issuing.names.map(({ value }) => value));
    return issued(issuing);
  });
  return { ...setting, asked };
}

describe("a request that was changed in the database", () => {
  const other = [{ type: "dns", value: "www.victim.example" }];
  test.each([
    ["names", (id: string) => sql`update certificate_requests set names = ${JSON.stringify(other)}::text::jsonb where id = ${id}`],
    ["profile", (id: string) => sql`update certificate_requests set profile = 'client' where id = ${id}`],
    ["key", (id: string) => sql`update certificate_requests set key_location = 'csr', csr = '\\x3000' where id = ${id}`],
    ["stamp", (id: string) => sql`update certificate_requests set stamp = null where id = ${id}`],
  ])("fails, and its issuer is asked nothing: %s", async (_, attack) => {
    const { order, get, asked } = await watched();
    const { id } = await order();
    await attack(id);
    await work();
    expect(outcome(await get(id))).toEqual({ status: "failed", reason: UNPROVEN_REQUEST });
    expect(asked).toEqual([]);
  });

  test("fails where the key that it was kept with was replaced", async () => {
    const { order, get, asked } = await watched();
    const { id } = await order({ names: ["www.example.org"], key: { location: "csr" }, csrPem: (await newCsr()).csrPem });
    await sql`update certificate_requests set csr = (select csr from certificate_requests where id = ${id}) || '\\x00' where id = ${id}`;
    await work();
    expect([outcome(await get(id)).reason, asked]).toEqual([UNPROVEN_REQUEST, []]);
  });

  test("409 for its approval; approved in the database it fails", async () => {
    const { organization, order, get, asked } = await watched();
    await organization.admin("PUT", "/issuance-policy", { body: { needsApproval: true } });
    const [changed, approved, good] = [await order(), await order(), await order()];
    await sql`update certificate_requests set names = ${JSON.stringify(other)}::text::jsonb where id = ${changed.id}`;
    await sql`update certificate_requests set approval = 'given', due_at = now() where id = ${approved.id}`;
    await sql`update issuers set due_at = now() where organization_id = ${organization.id}`;
    const [first, second] = [await organization.join(), await organization.join()];
    const approve = (id: string, { token } = first) =>
      call("POST", `/organizations/${organization.id}${PATH}/${id}/approve`, { token, headers: organization.headers("ORG_ADMIN") });
    expect(await approve(changed.id)).toMatchObject({ status: 409, body: { message: UNPROVEN_REQUEST } });
    expect((await approve(good.id)).status).toBe(200);
    expect((await approve(good.id, second)).body.approval).toBe("given"); // ordered by headers alone, so that it takes two
    await work();
    expect(outcome(await get(approved.id))).toEqual({ status: "failed", reason: UNPROVEN_REQUEST });
    expect((await get(good.id)).status).toBe("issued");
    expect(asked).toEqual(good.names);
  });

  test("is no template of a renewal, neither by the job nor by a person", async () => {
    const { organization, order, get, asked } = await watched();
    const { id } = await order();
    await work();
    await renew(organization);
    await sql`update certificate_requests set names = ${JSON.stringify(other)}::text::jsonb where id = ${id}`;
    const { certificateId } = await get(id);
    expect(await organization.admin("POST", `/certificates/${certificateId}/renew`, { body: {} })).toMatchObject({
      status: 409,
      body: { message: `It cannot be ordered as before. ${UNPROVEN_REQUEST}` },
    });
    await renew(organization, 61);
    await work();
    const { body } = await organization.member("GET", `${PATH}?status=failed`);
    expect(body.items).toMatchObject([{ replaces: certificateId, reason: UNPROVEN_REQUEST }]);
    expect(asked).toHaveLength(1);
  });
});

describe("an issuer that was changed in the database", () => {
  test("fails its requests and its test, and cannot be changed, until an administrator trusts what stands there", async () => {
    const { organization, issuer, order, get, asked } = await watched();
    const path = `/issuers/${issuer.id}`;
    await sql`update issuers set config = jsonb_set(config, '{directoryUrl}', '"https://theirs.example"') where id = ${issuer.id}`;
    const { id } = await order();
    await work();
    expect(outcome(await get(id))).toEqual({ status: "failed", reason: UNPROVEN_ISSUER });
    expect(asked).toEqual([]);
    expect((await organization.admin("POST", `${path}/test`)).body).toEqual({ outcome: "failed", message: UNPROVEN_ISSUER });
    expect(await organization.admin("PATCH", path, { body: { name: "Mine" } })).toMatchObject({ status: 409, body: { message: UNPROVEN_ISSUER } });
    await trust();
    const { id: next } = await order();
    await work();
    expect((await get(next)).status).toBe("issued");
    expect((await organization.admin("PATCH", path, { body: { name: "Mine" } })).status).toBe(200);
  });
});

describe("an authority that was changed in the database", () => {
  const held =
    'The authority "Issuing CA" was changed in the database, and not by this server, or an upgrade did not stamp it. Ask who administers the server to look at it, and to run certitude secrets trust.';
  const pem = certificate({ commonName: "Theirs", isCa: true }).pem;
  test.each([
    ["its profiles", (id: string) => sql`update authorities set profiles = jsonb_set(profiles, '{0,allowsWildcards}', 'true') where id = ${id}`],
    ["its constraints", (id: string) => sql`update authorities set constraints = '[]' where id = ${id}`],
    ["its end", (id: string) => sql`update authorities set not_after = not_after + interval '1 year' where id = ${id}`],
    ["where it publishes", (id: string) => sql`update authorities set public_url = 'http://theirs.example' where id = ${id}`],
    ["its certificate", (id: string) => sql`update certificates set pem = ${pem} where id = (select certificate_id from authorities where id = ${id})`],
    ["its stamp", (id: string) => sql`update authorities set stamp = null where id = ${id}`],
  ])("issues nothing: %s", async (_, attack) => {
    const organization = await newOrganization();
    const { issuing } = await newHierarchy(organization, { nameConstraints: { permittedDomains: ["example.com"] } });
    expect(await issue(openssl, organization, issuing)).toHaveProperty("chainPem");
    await attack(issuing.id);
    expect(await issue(openssl, organization, issuing)).toMatchObject({ invalid: held });
  });

  test("409 for a PATCH and for an issuer, 400 for an authority below it; as before once an administrator trusts it", async () => {
    const organization = await newOrganization();
    const { root, issuing } = await newHierarchy(organization);
    await sql`update authorities set profiles = '[]' where id = ${issuing.id}`;
    const path = `/authorities/${issuing.id}`;
    const create = () => organization.admin("POST", "/issuers", { body: authority({ config: { authorityId: issuing.id } }) });
    const below = () =>
      organization.admin("POST", "/authorities", { body: { kind: "issuing", name: "Below", parentId: root.id, subject: { commonName: "Below" } } });
    expect(await organization.admin("PATCH", path, { body: { name: "Mine" } })).toMatchObject({ status: 409, body: { message: held } });
    expect(await create()).toMatchObject({ status: 409, body: { message: expect.stringContaining(held) } });
    await trust();
    expect((await organization.admin("PATCH", path, { body: { profiles: [{ name: "server", usage: "server" }] } })).status).toBe(200);
    expect((await create()).status).toBe(201);
    expect((await below()).status).toBe(201);
    await sql`update authorities set path_length = 5 where id = ${root.id}`;
    expect(await below()).toMatchObject({ status: 400, body: { message: expect.stringContaining("was changed in the database") } });
  });
});
