import { describe, expect, expectTypeOf, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { App } from "#app";
import { newOrganization, newUser } from "../support/server/people";
import { world } from "../support/server/world";

const client = (headers: Record<string, string> = {}) => treaty<App>(world.url, { headers, parseDate: false });
const { members } = client().organizations({ organizationId: "any" });
const { notifications } = client().users.me;

type Operation = (...args: never[]) => Promise<{ data: unknown; error: unknown }>;
type Data<Of extends Operation> = NonNullable<Awaited<ReturnType<Of>>["data"]>;
/** Elysia adds its own 422 to the types of whatever has a schema; this server never answers it. */
type Statuses<Of extends Operation> = Exclude<Extract<NonNullable<Awaited<ReturnType<Of>>["error"]>, { status: number }>["status"], 422>;
type Role = "ORG_ADMIN" | "ORG_MEMBER";

describe("members", () => {
  test("their types: bodies, answers and refusals", () => {
    expectTypeOf<Parameters<typeof members.post>[0]["email"]>().toEqualTypeOf<string>();
    expectTypeOf<Parameters<typeof members.post>[0]["role"]>().toEqualTypeOf<Role | undefined>();
    expectTypeOf<Data<typeof members.post>["status"]>().toEqualTypeOf<"invited" | "active">();
    expectTypeOf<Statuses<typeof members.post>>().toEqualTypeOf<400 | 401 | 403>();
    expectTypeOf<Data<typeof members.get>["items"][number]["role"]>().toEqualTypeOf<Role>();
  });

  test("an invitation, typed", async () => {
    const organization = await newOrganization();
    const own = client(organization.headers("ORG_ADMIN")).organizations({ organizationId: organization.id }).members;
    const headers = { "x-organization-id": organization.id, "x-organization-role": "ORG_ADMIN" as const };
    const { data } = await own.post({ email: "grace@certitude.example" }, { headers });
    expect(data?.email).toBe("grace@certitude.example");
    // @ts-expect-error an address is text
    expect((await own.post({ email: 5 }, { headers })).status).toBe(400);
  });
});

describe("notifications", () => {
  test("their types: answers and refusals", () => {
    expectTypeOf<Data<typeof notifications.inbox.get>["total"]>().toEqualTypeOf<number>();
    expectTypeOf<Data<typeof notifications.inbox.get>["items"][number]["readAt"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Data<typeof notifications.read.post>>().toEqualTypeOf<{ marked: number; unread: number }>();
    expectTypeOf<Statuses<typeof notifications.inbox.get>>().toEqualTypeOf<400 | 401>();
  });

  test("an example and the inbox, typed", async () => {
    const { token } = await newUser();
    const own = client({ authorization: `Bearer ${token}` }).users.me.notifications;
    const { data } = await own.examples.post({ kind: "control_due" });
    expect(data?.example).toBe(true);
    expect((await own.inbox.get({ query: { page: 0, limit: 10 } })).data?.total).toBe(1);
    // @ts-expect-error there is no such kind
    expect((await own.examples.post({ kind: "nonsense" })).status).toBe(400);
  });
});
