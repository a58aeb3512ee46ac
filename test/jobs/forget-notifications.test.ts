import { expect, test } from "bun:test";
import { forgetNotifications } from "#jobs/forget-notifications";
import { addEvent, dispatch, endState } from "../support/server/dispatching";
import { newOrganization } from "../support/server/people";
import { world } from "../support/server/world";

const DAY = 86_400_000;
const forget = (days: number) =>
  forgetNotifications({ sql: world.sql, clock: () => new Date(Date.now() + days * DAY) })([] as never, new AbortController().signal);

test("events and notifications older than ninety days are deleted, but those of a state that stands", async () => {
  const organization = await newOrganization();
  const user = await organization.join("ORG_ADMIN");
  const silent = { kind: "agent_silent" as const, facts: { name: "web-1", lastSeenAt: "2030-01-15T12:00:00.000Z" } };
  const subjectId = await addEvent(organization.id, silent);
  await addEvent(organization.id, { kind: "member_joined", facts: { name: "Grace", role: "ORG_MEMBER" } });
  await dispatch();
  await addEvent(organization.id, { kind: "member_joined", facts: { name: "Alan", role: "ORG_MEMBER" } }); // not dispatched yet
  const kept = async () => ({
    events: (await world.sql<{ kind: string }[]>`select kind from notification_events where organization_id = ${organization.id} order by id`).map(
      ({ kind }) => kind,
    ),
    notifications: (await world.sql<{ kind: string }[]>`select kind from notifications where organization_id = ${organization.id} order by id`).map(
      ({ kind }) => kind,
    ),
  });
  await forget(89);
  expect(await kept()).toEqual({ events: ["agent_silent", "member_joined", "member_joined"], notifications: ["agent_silent", "member_joined"] });
  await forget(91);
  expect(await kept()).toEqual({ events: ["agent_silent", "member_joined"], notifications: ["agent_silent"] });
  await endState(organization.id, "agent_silent", subjectId);
  await dispatch();
  await forget(91);
  expect(await kept()).toEqual({ events: [], notifications: [] });
  expect((await user.call("GET", "/users/me/notifications/inbox")).body).toMatchObject({
    total: 3,
    items: [{ title: "Alan is a member now" }, {}, { state: "cleared" }],
  });
});
