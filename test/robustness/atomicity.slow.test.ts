import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isWriting, nameOf, operations } from "../support/openapi/document";
import type { Wish } from "../support/server/call";
import { populatedOrganization, withQueue } from "../support/server/populated-organization";
import { rowsOf } from "../support/server/rows";
import { world } from "../support/server/world";
import { NEEDS } from "./needs";

/** Writing operations that are about the caller alone, and so leave no trace in an organization. */
const PERSONAL = ["createExampleNotification", "markNotificationsRead", "signOut", "updateNotificationPreferences", "updateProfile"];

/** No audit event of a request whose id begins so can be written. */
const DOOMED = "doomed-";

withQueue();

beforeAll(async () => {
  await world.sql.unsafe(`
    create function refuse_event() returns trigger language plpgsql as $$ begin raise exception 'no event for this request'; end $$;
    create trigger refuse_event before insert on audit_tail for each row when (new.request_id like '${DOOMED}%') execute function refuse_event()`);
});
afterAll(async () => {
  await world.sql.unsafe("drop trigger refuse_event on audit_tail; drop function refuse_event()");
});

const writing = operations.filter((each) => isWriting(each) && !PERSONAL.includes(each.id));
const inOrganizations = writing.filter((each) => each.id !== "createOrganization");
const withId = (wish: Wish, requestId: string): Wish => ({ ...wish, headers: { ...wish.headers, "x-request-id": requestId } });

async function eventsOf(requestId: string) {
  return world.sql<{ organizationId: string; action: string }[]>`
    select organization_id as "organizationId", action from audit_events where request_id = ${requestId}`;
}

describe.each(inOrganizations.map((operation) => [nameOf(operation), operation] as const))("%s", (_, operation) => {
  test("500 and not one row changed when its audit event cannot be written; else it leaves one", async () => {
    const everything = await populatedOrganization();
    const { organization } = everything;
    const wish = (await NEEDS[operation.id]?.(everything)) ?? {};
    const before = await rowsOf(organization.id);
    expect((await everything.send(operation, withId(wish, `${DOOMED}${crypto.randomUUID()}`))).status).toBe(500);
    expect(await rowsOf(organization.id)).toEqual(before);

    const requestId = crypto.randomUUID();
    const answer = await everything.send(operation, withId(wish, requestId));
    expect({ answer: answer.text, isDone: answer.status < 300 }).toEqual({ answer: answer.text, isDone: true });
    const events = await eventsOf(requestId);
    expect(events.length).toBeGreaterThan(0);
    expect(new Set(events.map((each) => each.organizationId))).toEqual(new Set([organization.id]));
    expect(await rowsOf(organization.id)).not.toEqual(before);
  });
});

describe("POST /admin/organizations", () => {
  test("500 and no organization when its audit event cannot be written; else it leaves one", async () => {
    const everything = await populatedOrganization();
    const [operation] = operations.filter((each) => each.id === "createOrganization");
    if (!operation) throw new Error("there is no such operation");
    const name = `Example ${crypto.randomUUID()}`;
    expect((await everything.send(operation, withId({ body: { name } }, `${DOOMED}${crypto.randomUUID()}`))).status).toBe(500);
    expect(await world.sql`select from organizations where name = ${name}`).toHaveLength(0);

    const requestId = crypto.randomUUID();
    const { body } = await everything.send(operation, withId({ body: { name } }, requestId));
    expect([...(await eventsOf(requestId))]).toEqual([{ organizationId: body.id, action: "organization.created" }]);
  });
});

test("what is personal is there and writes", () => {
  expect(operations.filter((each) => PERSONAL.includes(each.id) && isWriting(each)).length).toBe(PERSONAL.length);
});
