import { describe, expect, test } from "bun:test";
import { audit } from "#modules/people/audit/queries";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

describe("GET /organizations/{organizationId}/audit-events", () => {
  test("403 for an ORG_MEMBER, before the query is looked at", async () => {
    const organization = await newOrganization();
    expect((await organization.member("GET", "/audit-events?limit=x")).status).toBe(403);
  });

  test("400 for a bad limit", async () => {
    const organization = await newOrganization();
    expect((await organization.admin("GET", "/audit-events?limit=0")).status).toBe(400);
  });

  test("200 newest first, page by page, with who, what and the request", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const [id] = await importInto(organization, certificate().pem);
    const answer = await admin.call("DELETE", `/organizations/${organization.id}/certificates/${id}`, {
      headers: { ...organization.headers("ORG_ADMIN"), "x-request-id": "my-request" },
    });
    expect(answer.status).toBe(204);
    const first = (await organization.admin("GET", "/audit-events?limit=1")).body;
    expect(first.items).toMatchObject([
      { action: "certificate.retired", targetId: id, requestId: "my-request", actor: { type: "user", id: admin.id, role: "ORG_ADMIN" } },
    ]);
    const rest = (await organization.admin("GET", `/audit-events?cursor=${first.nextCursor}`)).body;
    expect(rest.items.map((each: { action: string }) => each.action)).toEqual(["certificate.imported", "member.added", "organization.created"]);
    expect(rest.nextCursor).toBeNull();
  });

  test("200 shows nothing of another organization", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    await importInto(other, certificate().pem);
    expect((await mine.admin("GET", "/audit-events")).body.items).toHaveLength(1);
  });

  test("200 in the order of the events, those of one millisecond too", async () => {
    const organization = await newOrganization();
    for (let index = 0; index < 10; index++)
      await world.sql`${audit(world.sql, organization.scope, `test.${index}`, world.sql`select ${index}::int, '{}'::jsonb`)}`;
    const { body } = await organization.admin("GET", "/audit-events");
    const numbers = body.items.flatMap((each: { targetType: string; targetId: string }) => (each.targetType === "test" ? Number(each.targetId) : []));
    expect(numbers).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });
});
