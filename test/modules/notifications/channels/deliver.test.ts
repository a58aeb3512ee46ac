import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import type { Reach } from "#modules/core/connectors/services/http";
import { findStoredRoute } from "#modules/notifications/channels/queries/routes";
import { tidyChannels } from "#modules/notifications/channels/services/deliver";
import { tryRoute } from "#modules/notifications/channels/services/try-route";
import { send } from "#outbound/http-client";
import { certificate, importInto } from "../../../support/pki/certificates";
import { deliver, openChannel } from "../../../support/server/channels";
import { privateWorld } from "../../../support/server/connections";
import { addEvent, dispatch, endState } from "../../../support/server/dispatching";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { DELIVERING, runShared } from "../../../support/server/shared-jobs";
import { startTarget } from "../../../support/server/target";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const targets: ReturnType<typeof startTarget>[] = [];
const target = (...given: Parameters<typeof startTarget>) => {
  const started = startTarget(...given);
  targets.push(started);
  return started;
};
afterAll(() => Promise.all(targets.map((each) => each.stop())));

const expiring = (commonName: string, days = 14) => ({ commonName, notAfter: new Date(Date.now() + days * 86_400_000).toISOString(), days });
const expire = (organization: TestOrganization, commonName = "www.example.org", subjectId?: string) =>
  addEvent(organization.id, { kind: "certificate_expiring", facts: expiring(commonName), ...(subjectId && { subjectId }) });
const dispatchAndDeliver = async (elsewhere?: string) => {
  await dispatch();
  await deliver(elsewhere);
};

describe("the job that delivers to channels", () => {
  test("delivers to a webhook once, signed, with a name as it is; the log shows how", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response("s3cr3t answer", { status: 204 }));
    const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
    const channel = await openChannel(organization, "webhook", { url: `${url}/hook` }, { signingSecret: secret });
    const subjectId = await expire(organization, "{{constructor}}.example.org");
    await dispatchAndDeliver();
    await dispatchAndDeliver();
    expect(await channel.deliveries()).toMatchObject([{ reason: null, state: "delivered" }]);
    expect(requests).toHaveLength(1);
    const [request] = requests;
    const body = new Webhook(secret).verify(request?.body ?? "", request?.headers ?? {});
    expect(body).toMatchObject({
      type: "certificate_expiring",
      data: { title: expect.stringMatching(/^\{\{constructor\}\}\.example\.org expires in 1[34] days$/), items: [{ id: subjectId }], test: false },
    });
    const [delivery, ...others] = await channel.deliveries();
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({
      id: request?.headers["webhook-id"],
      state: "delivered",
      test: false,
      lastStatus: 204,
      reason: null,
      nextAttemptAt: null,
      attempts: [{ status: 204, reason: null }],
      notification: { kind: "certificate_expiring", severity: "warning", link: `/organizations/${organization.id}/certificates/${subjectId}` },
    });
    expect(await channel.deliveries("?state=pending")).toEqual([]);
    expect(await channel.deliveries("?state=delivered")).toEqual([delivery]);
  });

  test("comes to a channel while those of another organization never answer", async () => {
    const [slow, other] = [await newOrganization(), await newOrganization()];
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = target(async () => {
      await promise;
      return new Response();
    });
    const prompt = target(() => {
      resolve();
      return new Response();
    });
    const channels: Awaited<ReturnType<typeof openChannel>>[] = [];
    for (let count = 0; count < 20; count++) channels.push(await openChannel(slow, "webhook", { url: `${held.url}/${count}` }));
    await openChannel(other, "webhook", { url: prompt.url });
    await expire(slow);
    await dispatch();
    await expire(other);
    await dispatchAndDeliver();
    expect(prompt.requests).toHaveLength(1);
    for (const each of channels) expect(await each.deliveries()).toMatchObject([{ state: "delivered", attempts: [{ status: 200 }] }]);
  });

  test("comes in one turn to every channel that is due, however many they are", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response());
    await Promise.all(Array.from({ length: 20 }, () => openChannel(organization, "webhook", { url: `${url}/${crypto.randomUUID()}` })));
    await expire(organization);
    await dispatch();
    await world.sql`update notification_deliveries set next_attempt_at = now() + interval '1 hour' where organization_id = ${organization.id}`;
    await deliver(); // nothing waits, so all of them end at the same moment
    const due = () => world.sql`select from notification_channels where organization_id = ${organization.id} and due_at <= now()`;
    expect([await due(), requests]).toEqual([[], []] as never);
    await world.sql`update notification_deliveries set next_attempt_at = now() where organization_id = ${organization.id}`;
    await world.sql`update notification_channels set due_at = now() where organization_id = ${organization.id}`;
    await deliver();
    expect(requests).toHaveLength(20);
  });

  test("delivers by kind, severity, the webhook's own events and labels, and of several only those that fit", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response());
    const at = (path: string) => requests.filter((each) => each.path === path).map(({ body }) => JSON.parse(body).data);
    await openChannel(organization, "webhook", { url: `${url}/kinds` }, {}, { kinds: ["certificate_expired"] });
    await openChannel(organization, "webhook", { url: `${url}/severity` }, {}, { severity: "critical" });
    await openChannel(organization, "webhook", { url: `${url}/events`, events: ["certificate_revoked"] });
    await openChannel(organization, "webhook", { url: `${url}/disabled` }, {}, { enabled: false });
    await openChannel(organization, "webhook", { url: `${url}/labels` }, {}, { selector: "env=prod" });
    await openChannel(organization, "webhook", { url: `${url}/all` });
    const ids: string[] = [];
    for (const env of ["prod", "prod", "test"]) {
      const [id = ""] = await importInto(organization, certificate().pem);
      await organization.admin("PATCH", `/certificates/${id}`, { body: { labels: { env } } });
      ids.push(id);
    }
    for (const [index, id] of ids.entries()) await expire(organization, `cert-${index}`, id);
    await dispatchAndDeliver();
    expect(requests.map(({ path }) => path).toSorted()).toEqual(["/all", "/labels"]);
    expect(at("/all")).toMatchObject([{ count: 3 }]);
    expect(at("/labels")).toMatchObject([{ count: 2, title: expect.stringContaining("2 certificates expire soon") }]);
    expect(
      at("/labels")[0]
        .items.map(({ id }: { id: string }) => id)
        .toSorted(),
    ).toEqual(ids.slice(0, 2).toSorted());
  });

  test("matches the labels of the agent of an assignment", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response());
    await openChannel(organization, "webhook", { url }, {}, { selector: "tier=edge" });
    for (const tier of ["edge", "core"]) {
      const { body } = await organization.admin("POST", "/agents", { body: { name: `web-${tier}`, labels: { tier } } });
      await addEvent(organization.id, {
        kind: "assignment_failed",
        facts: { agentId: body.agent?.id ?? body.id, agentName: `web-${tier}`, commonName: "Root" },
      });
    }
    await dispatchAndDeliver();
    expect(requests.map(({ body }) => JSON.parse(body).data.items.map(({ agentName }: { agentName: string }) => agentName))).toEqual([["web-edge"]]);
  });

  test("delivers to a channel once where several routes lead to it, and one message for all owners", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response());
    const channel = await openChannel(organization, "webhook", { url });
    await organization.admin("POST", "/notification-routes", {
      body: { name: "y", target: { connectionId: channel.connectionId }, kinds: ["certificate_expiring"] },
    });
    const owners = [await organization.join(), await organization.join()];
    for (const { id } of owners) await addEvent(organization.id, { kind: "certificate_expiring", facts: expiring("www.example.org"), userId: id, role: null });
    await dispatchAndDeliver();
    expect(requests.map(({ body }) => JSON.parse(body).data.count)).toEqual([2]);
  });

  test("follows no redirect to a private address, and tries again", async () => {
    const organization = await newOrganization();
    const inner = target(() => new Response("instance credentials"));
    const { url, requests } = target(() => Response.redirect(inner.url));
    const channel = await openChannel(organization, "webhook", { url });
    await expire(organization);
    await dispatchAndDeliver();
    expect([requests.length, inner.requests.length]).toEqual([1, 0]);
    expect(await channel.deliveries()).toMatchObject([{ state: "pending", lastStatus: 302, reason: "It answered 302, a redirect, which is not followed." }]);
  });

  test("gives up at once what a private address, another key or a bad header keeps from being delivered", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => new Response());
    const ended = async (config: object, secrets: object, spoil: (connectionId: string) => Promise<unknown>, serve = deliver) => {
      const channel = await openChannel(organization, "webhook", { url, ...config }, secrets, { kinds: ["document_failed"] });
      await spoil(channel.connectionId);
      await addEvent(organization.id, { kind: "document_failed", facts: { title: "x" } });
      await dispatch();
      await serve();
      const [{ state, reason }] = await channel.deliveries();
      await organization.admin("DELETE", channel.path);
      return { state, reason };
    };
    const unspoiled = async () => {};
    const unseal = (id: string) => world.sql`update connections set sealed_secrets = decode(repeat('00', 60), 'hex') where id = ${id}`;
    expect(await ended({}, { bearerToken: "x" }, unseal)).toEqual({
      state: "failed",
      reason: "The connection's secrets were sealed with another SECRETS_KEY. Set them again.",
    });
    expect(await ended({ headers: { "X-A": "a\r\nx-b: c" } }, {}, unspoiled)).toEqual({
      state: "failed",
      reason: "A config field or secret has a character that an HTTP header cannot carry.",
    });
    const strictly = () => runShared(DELIVERING, world.deps);
    expect(await ended({}, {}, unspoiled, strictly)).toEqual({ state: "failed", reason: "Its host name leads to a private, local or reserved address." });
    expect(requests).toEqual([]);
  });

  test("rests after a failure as long as Retry-After says, then tries with the same id", async () => {
    const organization = await newOrganization();
    const { url, requests } = target((_, index) => (index === 0 ? new Response(null, { status: 429, headers: { "retry-after": "600" } }) : new Response()));
    const channel = await openChannel(organization, "webhook", { url });
    await expire(organization, "one");
    await dispatchAndDeliver();
    await addEvent(organization.id, { kind: "document_failed", facts: { title: "x" } });
    await dispatchAndDeliver();
    expect(requests).toHaveLength(1);
    expect((await channel.state())?.wait).toBeWithin(590, 601);
    const [, waiting] = await channel.deliveries("?state=pending");
    expect(waiting).toMatchObject({ lastStatus: 429, reason: "It answered 429: it takes no more for now." });
    expect((Date.parse(waiting.nextAttemptAt) - Date.now()) / 1_000).toBeWithin(590, 601);
    await channel.hurry();
    await deliver();
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    expect((await channel.deliveries()).map(({ attempts }: { attempts: { status: number }[] }) => attempts.map(({ status }) => status))).toEqual([
      [200],
      [429, 200],
    ]);
    expect(await channel.state()).toMatchObject({ failures: 0, isFailing: false, isClaimed: false });
  });

  test("gives up after a day, notifies admins by their inbox and another channel but not by this one, and of the end", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    let isAway = true;
    const { url } = target(() => new Response(null, { status: isAway ? 503 : 200 }));
    const other = target(() => new Response());
    const channel = await openChannel(organization, "webhook", { url });
    const inbox = async () =>
      (await admin.call("GET", "/users/me/notifications/inbox")).body.items.filter(({ kind }: { kind: string }) => kind === "connection_failed");
    await expire(organization);
    await dispatchAndDeliver();
    await tidyChannels({ sql: world.sql }, new AbortController().signal);
    await dispatch();
    expect(await inbox()).toEqual([]);
    await channel.age(25);
    await expire(organization, "younger");
    await dispatchAndDeliver();
    expect((await channel.deliveries()).map(({ state }: { state: string }) => state).toSorted()).toEqual(["failed", "pending"]);
    expect(await channel.deliveries("?state=failed")).toMatchObject([
      { reason: "It could not be delivered within a day. It answered 503.", nextAttemptAt: null },
    ]);
    await openChannel(organization, "webhook", { url: other.url }, {}, { kinds: ["connection_failed"] });
    await tidyChannels({ sql: world.sql }, new AbortController().signal);
    await tidyChannels({ sql: world.sql }, new AbortController().signal);
    await dispatchAndDeliver();
    expect(await inbox()).toMatchObject([{ message: expect.stringContaining("It has delivered no notification for a day. It answered 503."), state: "open" }]);
    expect(other.requests.map(({ body }) => JSON.parse(body).type)).toEqual(["connection_failed"]);
    expect(await channel.deliveries()).toHaveLength(2);
    isAway = false;
    await channel.hurry();
    await dispatchAndDeliver();
    await dispatch();
    expect(await inbox()).toMatchObject([{ state: "cleared" }]);
    expect(await channel.state()).toMatchObject({ isFailing: false, isRecorded: false });
  });

  test("delivers again on request, with the same id; a test delivery lets what waits go out", async () => {
    const organization = await newOrganization();
    let status = 404;
    const { url, requests } = target(() => new Response(null, { status }));
    const channel = await openChannel(organization, "webhook", { url });
    await expire(organization);
    await dispatchAndDeliver();
    const [failed] = await channel.deliveries();
    expect(failed).toMatchObject({ state: "failed", reason: "It answered 404: there is nothing at this address." });
    status = 503;
    expect(await channel.redeliver(failed.id)).toMatchObject({ status: 202, body: { id: failed.id, state: "pending" } });
    await deliver();
    expect(await channel.tryOut()).toMatchObject({ outcome: "failed", status: 503, message: "It answered 503." });
    status = 200;
    const tried = await channel.tryOut();
    expect(tried).toMatchObject({ outcome: "delivered", status: 200, message: "It was delivered." });
    expect(JSON.parse(requests.at(-1)?.body ?? "")).toMatchObject({ data: { test: true, title: expect.stringMatching(/^Test: /) } });
    await channel.hurry();
    await deliver();
    const log = await channel.deliveries();
    expect(log.map(({ test: isTest, state }: { test: boolean; state: string }) => [isTest, state])).toEqual([
      [true, "delivered"],
      [true, "failed"],
      [false, "delivered"],
    ]);
    expect(requests.filter(({ headers }) => headers["webhook-id"] === failed.id)).toHaveLength(3);
    const events = (await organization.admin("GET", "/audit-events?action=notification-delivery.redelivered")).body.items;
    expect(events).toMatchObject([{ targetId: failed.id, details: { routeId: channel.routeId } }]);
    expect((await channel.redeliver(crypto.randomUUID())).status).toBe(404);
  });

  test("a deleted connection ends what waits, keeps its routes and notifies admins, until no route leads there", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const { url } = target(() => new Response(null, { status: 503 }));
    const channel = await openChannel(organization, "webhook", { url });
    await expire(organization);
    await dispatchAndDeliver();
    expect((await organization.admin("DELETE", `/core/connections/${channel.connectionId}`)).status).toBe(204);
    expect(await channel.deliveries()).toMatchObject([{ state: "failed", reason: "The connection was deleted." }]);
    expect((await organization.admin("GET", channel.path)).body).toMatchObject({ targetMissing: true, target: { connectionId: channel.connectionId } });
    expect(await channel.tryOut()).toMatchObject({ outcome: "failed", message: "The connection was deleted." });
    await expire(organization, "later");
    await dispatchAndDeliver();
    expect(await channel.deliveries()).toHaveLength(2);
    const inbox = async () =>
      (await admin.call("GET", "/users/me/notifications/inbox")).body.items.filter(({ kind }: { kind: string }) => kind === "connection_failed");
    expect(await inbox()).toMatchObject([{ state: "open", message: expect.stringContaining("It was deleted, and these notification routes lead to it: x.") }]);
    await organization.admin("PATCH", channel.path, { body: { target: { role: "ORG_ADMIN" } } });
    await dispatch();
    expect(await inbox()).toMatchObject([{ state: "cleared" }]);
    expect((await organization.admin("GET", channel.path)).body.targetMissing).toBeFalse();
  });

  test("a route that is disabled, leads elsewhere or is deleted ends what waits", async () => {
    const organization = await newOrganization();
    const { url } = target(() => new Response(null, { status: 503 }));
    const reasons = [];
    const change = (path: string, body: object) => organization.admin("PATCH", path, { body });
    for (const end of [
      (path: string) => change(path, { enabled: false }),
      (path: string) => change(path, { target: { role: "ORG_ADMIN" } }),
      (path: string) => organization.admin("DELETE", path),
    ]) {
      const channel = await openChannel(organization, "webhook", { url });
      await expire(organization);
      await dispatch();
      await end(channel.path);
      await deliver();
      const [row] =
        await world.sql`select state, reason, attempts from notification_deliveries where organization_id = ${organization.id} and route_id = ${channel.routeId}`;
      reasons.push(row);
      await organization.admin("DELETE", channel.path);
    }
    expect(reasons).toEqual([
      { state: "failed", reason: "The route was disabled.", attempts: [] },
      { state: "failed", reason: "The route leads elsewhere now.", attempts: [] },
      { state: "failed", reason: "The route was deleted.", attempts: [] },
    ]);
  });

  test("forgets deliveries of more than 90 days ago", async () => {
    const organization = await newOrganization();
    const { url } = target(() => new Response());
    const channel = await openChannel(organization, "webhook", { url });
    await expire(organization, "old");
    await expire(organization, "new", crypto.randomUUID());
    await dispatchAndDeliver();
    await addEvent(organization.id, { kind: "document_failed", facts: { title: "x" } });
    await dispatchAndDeliver();
    const [, old] = await channel.deliveries();
    await world.sql`update notification_deliveries set created_at = now() - interval '91 days' where organization_id = ${organization.id} and id = ${old.id}`;
    await tidyChannels({ sql: world.sql }, new AbortController().signal);
    expect(await channel.deliveries()).toHaveLength(1);
  });
});

describe("a channel with a format of its own", () => {
  test("fails where Slack answers 200 with ok false", async () => {
    const organization = await newOrganization();
    const slack = target((_, index) => Response.json(index === 0 ? { ok: false, error: "ratelimited" } : { ok: true }));
    const channel = await openChannel(organization, "slack", { mode: "bot_token", channelId: "C1" }, { botToken: "xoxb-1" });
    await expire(organization, "<!channel>");
    await dispatchAndDeliver(slack.url);
    expect(await channel.deliveries()).toMatchObject([{ state: "pending", lastStatus: 200 }]);
    await channel.hurry();
    await deliver(slack.url);
    expect(await channel.deliveries()).toMatchObject([{ state: "delivered" }]);
    expect(slack.requests[0]).toMatchObject({ path: "/api/chat.postMessage", headers: { authorization: "Bearer xoxb-1" } });
    expect(JSON.parse(slack.requests[0]?.body ?? "")).toMatchObject({ channel: "C1", text: expect.stringContaining("&lt;!channel&gt; expires") });
  });

  test("triggers PagerDuty, and resolves it once the state has ended", async () => {
    const organization = await newOrganization();
    const pagerduty = target(() => Response.json({ status: "success" }, { status: 202 }));
    await openChannel(organization, "pagerduty", {}, { integrationKey: "r0ut1ng" });
    const received = () => pagerduty.requests.map(({ body }) => JSON.parse(body)).map(({ event_action, dedup_key }) => [event_action, dedup_key.slice(37)]);
    const subjectId = await expire(organization);
    await dispatchAndDeliver(pagerduty.url);
    await expire(organization, "www.example.org", subjectId);
    await dispatchAndDeliver(pagerduty.url);
    await addEvent(organization.id, { kind: "certificate_renewed", facts: { commonName: "www.example.org", notAfter: new Date().toISOString() }, subjectId });
    await dispatchAndDeliver(pagerduty.url);
    const key = `certificate expiry ${subjectId}`;
    expect(received()).toEqual([
      ["trigger", key],
      ["trigger", key],
      ["resolve", key],
    ]);
  });

  test("ends PagerDuty's incident of several with the last of them, and what was not delivered yet is not delivered any more", async () => {
    const organization = await newOrganization();
    let status = 202;
    const pagerduty = target(() => new Response("{}", { status }));
    const channel = await openChannel(organization, "pagerduty", {}, { integrationKey: "r0ut1ng" });
    const received = () => pagerduty.requests.map(({ body }) => JSON.parse(body).event_action);
    const subjects = [await expire(organization, "a"), await expire(organization, "b")];
    await dispatchAndDeliver(pagerduty.url);
    expect(received()).toEqual(["trigger"]);
    await endState(organization.id, "certificate_expiring", subjects[0] ?? "");
    await dispatchAndDeliver(pagerduty.url);
    expect(received()).toEqual(["trigger"]);
    await endState(organization.id, "certificate_expiring", subjects[1] ?? "");
    await dispatchAndDeliver(pagerduty.url);
    expect(received()).toEqual(["trigger", "resolve"]);
    status = 503;
    const subjectId = await expire(organization, "c");
    await dispatchAndDeliver(pagerduty.url);
    await endState(organization.id, "certificate_expiring", subjectId);
    status = 202;
    await dispatch();
    await channel.hurry();
    await deliver(pagerduty.url);
    expect(received()).toEqual(["trigger", "resolve", "trigger", "resolve"]);
    const [, withdrawn] = await channel.deliveries();
    expect(withdrawn).toMatchObject({ state: "failed", reason: "The state ended before it could be delivered." });
    expect((await channel.redeliver(withdrawn.id)).status).toBe(409);
  });

  test("opens an incident of PagerDuty as a test, and ends it", async () => {
    const organization = await newOrganization();
    const pagerduty = target(() => new Response("{}", { status: 202 }));
    const { routeId } = await openChannel(organization, "pagerduty", {}, { integrationKey: "r0ut1ng" });
    const route = await findStoredRoute(world.sql, organization.id, routeId);
    if (!route) throw new Error("the route is there");
    const reach: Reach = (call, limits) => send({ ...call, url: new URL(call.url.pathname, pagerduty.url) }, limits);
    const { outcome, deliveryId } = await tryRoute(privateWorld.deps, organization.scope, route, reach);
    await deliver(pagerduty.url);
    expect(outcome).toBe("delivered");
    const received = pagerduty.requests.map(({ body }) => JSON.parse(body)).map(({ event_action, dedup_key }) => [event_action, dedup_key.slice(37)]);
    expect(received).toEqual([
      ["trigger", deliveryId],
      ["resolve", deliveryId],
    ]);
  });

  test("sends Teams a card", async () => {
    const organization = await newOrganization();
    const teams = target(() => new Response(null, { status: 202 }));
    const channel = await openChannel(organization, "microsoft_teams", {}, { webhookUrl: `${teams.url}/workflows/s3cr3t` });
    await expire(organization);
    await dispatchAndDeliver();
    expect(JSON.parse(teams.requests[0]?.body ?? "").attachments[0].content.type).toBe("AdaptiveCard");
    expect(JSON.stringify(await channel.deliveries())).not.toContain("s3cr3t");
  });
});

test("a dead target of 10,000 deliveries holds up no other channel, and costs one attempt", async () => {
  const organization = await newOrganization();
  let attempts = 0;
  const dead = target(() => {
    attempts++;
    return new Response(null, { status: 503 });
  });
  const live = target(() => new Response());
  const channel = await openChannel(organization, "webhook", { url: dead.url }, {}, { kinds: ["document_failed"] });
  await addEvent(organization.id, { kind: "document_failed", facts: { title: "x" } });
  await dispatch();
  await world.sql`
    insert into notification_deliveries (organization_id, id, route_id, connection_id, content, next_attempt_at)
    select organization_id, new_id(), route_id, connection_id, content, now() from notification_deliveries, generate_series(1, 9999) where organization_id = ${organization.id}`;
  const other = await openChannel(organization, "webhook", { url: live.url }, {}, { kinds: ["certificate_expiring"] });
  await expire(organization);
  await dispatchAndDeliver();
  expect(await other.deliveries()).toMatchObject([{ state: "delivered" }]);
  expect(attempts).toBe(1);
  expect(await channel.state()).toMatchObject({ failures: 1, isClaimed: false });
});

test("a delivery is made once by servers that deliver at the same time", async () => {
  const organization = await newOrganization();
  const { url, requests } = target(() => Bun.sleep(2).then(() => new Response()));
  await openChannel(organization, "webhook", { url });
  await expire(organization);
  await dispatch();
  await world.sql`
    insert into notification_deliveries (organization_id, id, route_id, connection_id, content, next_attempt_at)
    select organization_id, new_id(), route_id, connection_id, content, now() from notification_deliveries, generate_series(1, 199) where organization_id = ${organization.id}`;
  await Promise.all([deliver(), deliver(), deliver()]);
  await deliver();
  expect(requests).toHaveLength(200);
  expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(200);
});

test("a target that never ends its answer fails with the deadline", async () => {
  const organization = await newOrganization();
  const endless = target(() => new Response(new ReadableStream({ pull: (controller) => Bun.sleep(50).then(() => controller.enqueue(new Uint8Array([120]))) })));
  const channel = await openChannel(organization, "webhook", { url: endless.url });
  expect(await channel.tryOut()).toMatchObject({ outcome: "failed", status: null, message: "It did not answer in time." });
});
