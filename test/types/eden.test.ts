import { describe, expect, expectTypeOf, test } from "bun:test";
import { rootCertificates } from "node:tls";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import { newOrganization, newUser } from "../support/server/people";
import { world } from "../support/server/world";

/** A client as another team writes it; dates stay the strings that the types say. */
const client = (headers: Record<string, string> = {}) => treaty<App>(world.url, { headers, parseDate: false });
const api = client();
const anOrganization = { organizationId: "any" };
const aCertificate = { certificateId: "any" };

type Operation = (...args: never[]) => Promise<{ data: unknown; error: unknown }>;
type Data<Of extends Operation> = NonNullable<Awaited<ReturnType<Of>>["data"]>;
type Refusals<Of extends Operation> = Extract<NonNullable<Awaited<ReturnType<Of>>["error"]>, { status: number }>;
/** Elysia adds its own 422 to the types of whatever has a schema; this server never answers it. */
type Statuses<Of extends Operation> = Exclude<Refusals<Of>["status"], 422>;
type RefusalAt<Of extends Operation, Status extends number> = Extract<Refusals<Of>, { status: Status }> extends { value: infer Value } ? Value : never;
type Sentence = { message: string };
// biome-ignore lint/complexity/noBannedTypes: an empty object is what a conflict answers
type Nothing = {};

describe("PATCH /users/me/profile", () => {
  type Patch = typeof api.users.me.profile.patch;

  test("its types: body, answer and refusals", () => {
    expectTypeOf<Parameters<Patch>[0]>().toEqualTypeOf<{ displayName?: string; fullName?: string } | undefined>();
    expectTypeOf<Data<Patch>>().toEqualTypeOf<Sentence>();
    expectTypeOf<Statuses<Patch>>().toEqualTypeOf<400 | 401 | 412>();
    expectTypeOf<RefusalAt<Patch, 400>>().toEqualTypeOf<Sentence>();
    expectTypeOf<RefusalAt<Patch, 401>>().toEqualTypeOf<"">();
  });

  test("200, 400 and 401 as typed", async () => {
    const { token } = await newUser();
    const { profile } = client({ authorization: `Bearer ${token}` }).users.me;
    const done = await profile.patch({ displayName: "Ada" });
    expect(done.data?.message).toBe("Profile updated");
    // @ts-expect-error a name is text
    const faulty = await profile.patch({ displayName: 5 });
    expect(faulty.error?.status).toBe(400);
    if (faulty.error?.status === 400) expect(faulty.error.value.message).toContain("body.displayName");
    // @ts-expect-error there is no such field
    expect((await profile.patch({ nickname: "Ada" })).status).toBe(400);
    expect((await api.users.me.profile.patch({ displayName: "Ada" })).status).toBe(401);
  });
});

describe("POST /auth/sign-out", () => {
  type SignOut = (typeof api.auth)["sign-out"]["post"];

  test("its types: no body either way", () => {
    expectTypeOf<Awaited<ReturnType<SignOut>>["data"]>().toEqualTypeOf<"" | null>();
    expectTypeOf<Statuses<SignOut>>().toEqualTypeOf<401>();
    expectTypeOf<RefusalAt<SignOut, 401>>().toEqualTypeOf<"">();
  });

  test("204 and then 401", async () => {
    const { token } = await newUser();
    const { auth } = client({ authorization: `Bearer ${token}` });
    expect((await auth["sign-out"].post()).status).toBe(204);
    expect((await auth["sign-out"].post()).error?.status).toBe(401);
  });
});

describe("GET /portal/organizations/{organizationId}/certificates/{certificateId}", () => {
  const operation = api.portal.organizations(anOrganization).certificates(aCertificate).get;
  type Get = typeof operation;

  test("its types: the certificate, its chain and deployments", () => {
    expectTypeOf<Data<Get>["id"]>().toEqualTypeOf<string>();
    expectTypeOf<Data<Get>["status"]>().toEqualTypeOf<"active" | "expired" | "revoked" | "retired">();
    expectTypeOf<Data<Get>["daysRemaining"]>().toEqualTypeOf<number>();
    expectTypeOf<Data<Get>["revokedAt"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Data<Get>["chain"][number]["pem"]>().toEqualTypeOf<string>();
    expectTypeOf<Data<Get>["deployments"][number]["agentName"]>().toEqualTypeOf<string>();
    expectTypeOf<Statuses<Get>>().toEqualTypeOf<401 | 404>();
    expectTypeOf<RefusalAt<Get, 404>>().toEqualTypeOf<Sentence>();
  });
});

describe("GET /organizations/{organizationId}/certs/monitoring/top-expiring", () => {
  const operation = api.organizations(anOrganization).certs.monitoring["top-expiring"].get;
  type Get = typeof operation;
  type Options = Parameters<Get>[0];

  test("its types: headers, query, items", () => {
    expectTypeOf<Options["headers"]>().toEqualTypeOf<{ "x-organization-role": "ORG_ADMIN" | "ORG_MEMBER"; "x-organization-id": string }>();
    expectTypeOf<Options["query"]>().toExtend<{ limit?: number } | undefined>();
    expectTypeOf<Data<Get>>().toEqualTypeOf<{ items: { certificateId: string; commonName: string; expiresAt: string; daysRemaining: number }[] }>();
    expectTypeOf<Statuses<Get>>().toEqualTypeOf<400 | 401 | 403>();
    expectTypeOf<RefusalAt<Get, 403>>().toEqualTypeOf<Sentence>();
  });
});

describe("{org}/certificates", () => {
  const { certificates } = api.organizations(anOrganization);
  const one = certificates(aCertificate);
  type Import = typeof certificates.post;
  type List = typeof certificates.get;
  type Get = typeof one.get;
  type Revoke = typeof one.revoke.post;
  type Retire = typeof one.delete;

  test("their types: bodies, answers and refusals", () => {
    expectTypeOf<Parameters<Import>[0]>().toEqualTypeOf<{ pem: string; privateKeyPem?: string }>();
    expectTypeOf<Data<Import>["imported"][number]>().toEqualTypeOf<{ index: number; id: string; commonName: string; fingerprintSha256: string }>();
    expectTypeOf<Data<Import>["refused"][number]>().toEqualTypeOf<{ index: number; message: string }>();
    expectTypeOf<Statuses<Import>>().toEqualTypeOf<400 | 401 | 403>();
    expectTypeOf<Data<List>["nextCursor"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Data<List>["items"][number]>().not.toHaveProperty("pem");
    expectTypeOf<Statuses<List>>().toEqualTypeOf<400 | 401 | 403>();
    expectTypeOf<Data<Get>["pem"]>().toEqualTypeOf<string>();
    expectTypeOf<Statuses<Get>>().toEqualTypeOf<400 | 401 | 403 | 404>();
    expectTypeOf<Statuses<Revoke>>().toEqualTypeOf<400 | 401 | 403 | 404 | 409 | 412>();
    expectTypeOf<RefusalAt<Revoke, 409>>().toEqualTypeOf<Nothing>();
    expectTypeOf<Statuses<Retire>>().toEqualTypeOf<401 | 403 | 404 | 412>();
  });

  test("the way of a certificate, every step typed", async () => {
    const organization = await newOrganization();
    const { token } = await organization.join();
    const headers = { "x-organization-id": organization.id, "x-organization-role": "ORG_ADMIN" } as const;
    const { organizations, portal } = client({ authorization: `Bearer ${token}` });
    const scope = organizations({ organizationId: organization.id });

    const imported = await scope.certificates.post({ pem: rootCertificates.slice(0, 2).join("\n") }, { headers });
    const [first] = imported.data?.imported ?? [];
    const certificateId = first?.id ?? "";
    expect([imported.status, imported.data?.imported.length]).toEqual([201, 2]);
    // @ts-expect-error the PEM is what it is about
    expect((await scope.certificates.post({}, { headers })).status).toBe(400);
    // @ts-expect-error the headers say for whom
    expect((await scope.certificates.post({ pem: "" })).status).toBe(403);
    // @ts-expect-error there is no such role
    expect((await scope.certificates.post({ pem: "" }, { headers: { ...headers, "x-organization-role": "OWNER" } })).status).toBe(403);

    const expiring = await scope.certs.monitoring["top-expiring"].get({ headers, query: { limit: 1 } });
    expect(expiring.data?.items.length).toBe(1);
    expect(expiring.data?.items[0]?.expiresAt).toBeString();
    const tooMany = await scope.certs.monitoring["top-expiring"].get({ headers, query: { limit: 51 } });
    expect(tooMany.error?.status).toBe(400);

    const details = await portal.organizations({ organizationId: organization.id }).certificates({ certificateId }).get();
    expect([details.data?.id, details.data?.chain]).toEqual([certificateId, []]);
    const nowhere = await portal.organizations({ organizationId: organization.id }).certificates({ certificateId: organization.id }).get();
    expect(nowhere.error?.status).toBe(404);

    const chosen = scope.certificates({ certificateId });
    // @ts-expect-error RFC 5280 knows no such reason
    expect((await chosen.revoke.post({ reason: "boredom" }, { headers })).status).toBe(400);
    expect((await chosen.revoke.post({ reason: "superseded" }, { headers })).data?.status).toBe("revoked");
    expect((await chosen.revoke.post({}, { headers })).error?.status).toBe(409);
    expect((await chosen.get({ headers })).data?.revocationReason).toBe("superseded");
    expect((await chosen.delete({}, { headers })).status).toBe(204);
    // @ts-expect-error there is no such path
    expect(() => api.organizations(anOrganization).certs.monitoring.nothing.get()).toBeFunction();
  });
});
