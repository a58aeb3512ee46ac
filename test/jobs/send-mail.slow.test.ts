import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createKeyring } from "#crypto/keyring";
import { resealAll } from "#db/reseal";
import { giveUpMail, MAILS_AT_ONCE } from "#jobs/send-mail";
import { enqueueMail } from "#mail/outbox";
import { MAX_CONNECTIONS } from "#mail/transport";
import { call } from "../support/server/call";
import { startMailServer } from "../support/server/mail-server";
import { startMailing } from "../support/server/mailing";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(600_000);

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await world.sql`delete from mails`;
  await world.sql`delete from pgboss.job where name = 'send-mail'`;
});

type Behaviour = Parameters<typeof startMailServer>[0];

/** A mail server, a server that sends to it, and an organization whose admin invites by it. */
async function withMail(behaviour: Behaviour = {}) {
  const mailServer = await startMailServer(behaviour);
  const server = await startMailing(mailServer.url);
  stops.push(mailServer.stop, server.stop);
  const organization = await newOrganization();
  const invite = async (email = newEmail()) => (await organization.admin("POST", "/members", { body: { email }, url: server.url })).body;
  return { mailServer, server, organization, invite };
}

const newEmail = () => `${crypto.randomUUID()}@people.example`;
const memberOf = async (organization: TestOrganization, id: string) =>
  (await organization.admin("GET", "/members?limit=100")).body.items.find((each: { id: string }) => each.id === id);
const eventsOf = async (organization: TestOrganization, action: string) => (await organization.admin("GET", `/audit-events?action=${action}`)).body.items;
const pending = async () => Number((await world.sql`select count(*)::int as count from mails`)[0]?.count);

/** Waits until the mail of a member is no longer on its way. */
async function settled(organization: TestOrganization, id: string) {
  for (;;) {
    const member = await memberOf(organization, id);
    if (member.invitationMail !== "pending") return member;
    await Bun.sleep(20);
  }
}

describe("the job that sends mails", () => {
  test("sends, and the member, the audit trail and the log say so", async () => {
    const { mailServer, server, organization, invite } = await withMail();
    await server.run();
    const invited = await invite();
    expect(invited).toMatchObject({ invitationMail: "pending", invitationMailFailure: null });
    const [mail] = await mailServer.has(1);
    expect(mail?.to).toBe(invited.email);
    expect(await settled(organization, invited.id)).toMatchObject({ invitationMail: "sent", invitationMailFailure: null, version: 1 });
    expect(await eventsOf(organization, "member.invitation-mailed")).toMatchObject([
      { targetId: invited.id, actor: { type: "server" }, details: { email: invited.email } },
    ]);
    expect(await server.says("mail sent")).toMatchObject([{ kind: "invitation", organizationId: organization.id, memberId: invited.id }]);
  });

  test("tries again after greylisting, with the same Message-ID, and says meanwhile why it waits", async () => {
    const { mailServer, server, organization, invite } = await withMail({ recipient: (_, attempt) => (attempt < 3 ? 450 : "take") });
    await server.run();
    const { id, email } = await invite();
    for (let attempts = 1; attempts < 3; attempts++) {
      await server.says("mail not taken yet, tried again later", attempts);
      expect(await memberOf(organization, id)).toMatchObject({
        invitationMail: "pending",
        invitationMailFailure: expect.stringContaining("does not take yet the recipient: 450"),
      });
      await server.hurry();
    }
    expect(await settled(organization, id)).toMatchObject({ invitationMail: "sent", invitationMailFailure: null });
    expect([mailServer.received.length, mailServer.attemptsAt(email)]).toEqual([1, 3]);
  });

  test("gives up the one of three whose recipient is refused, at the first attempt, and sends the others", async () => {
    const refused = newEmail();
    const { mailServer, server, organization, invite } = await withMail({ recipient: (address) => (address === refused ? 550 : "take") });
    await server.run();
    const members = [await invite(), await invite(refused), await invite()];
    const ended = await Promise.all(members.map(({ id }) => settled(organization, id)));
    expect(ended.map(({ invitationMail }) => invitationMail)).toEqual(["sent", "failed", "sent"]);
    expect(ended[1].invitationMailFailure).toMatch(/^127\.0\.0\.1:\d+ refuses the recipient: 550 /);
    expect(ended[1].invitationMailFailure).not.toContain(refused);
    expect(mailServer.received.map(({ to }) => to).toSorted()).toEqual([members[0].email, members[2].email].toSorted());
    expect(mailServer.attemptsAt(refused)).toBe(1);
    const reason = ended[1].invitationMailFailure;
    expect(await eventsOf(organization, "member.invitation-mail-failed")).toMatchObject([{ targetId: members[1].id, details: { email: refused, reason } }]);
    expect(await server.says("mail given up")).toMatchObject([{ memberId: members[1].id, reason }]);
  });

  test("gives up all of them where all recipients are refused", async () => {
    const { mailServer, server, organization, invite } = await withMail({ recipient: () => 550 });
    await server.run();
    const members = [await invite(), await invite(), await invite()];
    for (const { id } of members) expect(await settled(organization, id)).toMatchObject({ invitationMail: "failed" });
    expect(mailServer.received).toEqual([]);
  });

  test("tries again where the server dies in the middle of DATA", async () => {
    const { mailServer, server, organization, invite } = await withMail({ begun: (attempt) => (attempt === 1 ? "drop" : "take") });
    await server.run();
    const { id } = await invite();
    await server.says("mail server cannot be used; mails wait, and are tried again for a day");
    await server.hurry();
    expect(await settled(organization, id)).toMatchObject({ invitationMail: "sent" });
    expect(mailServer.received).toHaveLength(1);
    expect(await server.says("mail server takes mail again")).toHaveLength(1);
  });

  test("sends twice at most where the answer to the final dot was lost, and the double has the same Message-ID", async () => {
    const { mailServer, server, organization, invite } = await withMail({ whole: (_, attempt) => (attempt === 1 ? "drop" : "take") });
    await server.run();
    const { id } = await invite();
    await mailServer.has(1);
    while ((await memberOf(organization, id)).invitationMailFailure === null) await Bun.sleep(20);
    await server.hurry();
    expect(await settled(organization, id)).toMatchObject({ invitationMail: "sent" });
    expect(mailServer.received).toHaveLength(2);
    expect(mailServer.received[0]?.messageId).toMatch(/^<[0-9a-f-]{36}@example\.org>$/);
    expect(mailServer.received[0]?.messageId).toBe(mailServer.received[1]?.messageId ?? "");
  });

  test("sends once where the server has taken the mail but that could not be written down", async () => {
    const { mailServer, server, organization, invite } = await withMail();
    await world.sql.unsafe(`
      create function refuse_mailed() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
      create trigger refuse_mailed before insert on audit_tail for each row
        when (new.organization_id = '${organization.id}' and new.action = 'member.invitation-mailed') execute function refuse_mailed()`);
    await server.run();
    const { id } = await invite();
    await server
      .says("job failed, retried while attempts are left")
      .finally(() => world.sql.unsafe("drop trigger refuse_mailed on audit_tail; drop function refuse_mailed()"));
    expect(await memberOf(organization, id)).toMatchObject({ invitationMail: "pending" });
    await server.hurry();
    expect(await settled(organization, id)).toMatchObject({ invitationMail: "sent" });
    expect(mailServer.received).toHaveLength(1);
  });

  test("sends the others while the server takes its time with one", async () => {
    const answered = Promise.withResolvers<void>();
    const slow = newEmail();
    const { mailServer, server, organization, invite } = await withMail({
      whole: ({ to }) => (to === slow ? answered.promise.then(() => "take" as const) : "take"),
    });
    const first = await invite(slow);
    const others = await Promise.all(Array.from({ length: 3 * MAILS_AT_ONCE }, () => invite()));
    await server.run();
    for (const { id } of others) expect(await settled(organization, id)).toMatchObject({ invitationMail: "sent" });
    expect(await memberOf(organization, first.id)).toMatchObject({ invitationMail: "pending" });
    answered.resolve();
    expect(await settled(organization, first.id)).toMatchObject({ invitationMail: "sent" });
    expect(mailServer.received).toHaveLength(others.length + 1);
  });

  test("says once, not for each mail, that the server is away; the server starts and is ready all the same", async () => {
    const gone = await startMailServer();
    await gone.stop();
    const server = await startMailing(gone.url);
    stops.push(server.stop);
    const organization = await newOrganization();
    await server.run();
    const AWAY = "mail server cannot be used; mails wait, and are tried again for a day";
    const [line] = await server.says(AWAY);
    expect(line).toMatchObject({ level: 40, reason: `127.0.0.1:${gone.port} refuses the connection.` });
    expect((await call("GET", "/health/ready", { url: server.url })).status).toBe(200);
    const members = [];
    for (let index = 0; index < 5; index++) members.push((await organization.admin("POST", "/members", { body: { email: newEmail() }, url: server.url })).body);
    for (const { id } of members) while ((await memberOf(organization, id)).invitationMailFailure === null) await Bun.sleep(20);
    expect(await server.says(AWAY)).toHaveLength(2); // at the start, and of the first mail
  });

  test("gives up after the last attempt, and says why that one failed", async () => {
    const { server, organization, invite } = await withMail({ recipient: () => 450 });
    await server.run();
    const { id } = await invite();
    await server.says("mail not taken yet, tried again later");
    await server.hurry({ isLast: true });
    while ((await world.sql`select from pgboss.job where name = 'send-mail-failed'`).length === 0) await Bun.sleep(20);
    server.deps.queue.wake("send-mail-failed");
    expect(await settled(organization, id)).toMatchObject({
      invitationMail: "failed",
      invitationMailFailure: expect.stringMatching(/^It could not be sent within a day\. .* does not take yet the recipient: 450/),
    });
    expect(await eventsOf(organization, "member.invitation-mail-failed")).toHaveLength(1);
  });

  test("sends nothing that has expired, and nothing twice of what was given up", async () => {
    const { mailServer, server, organization, invite } = await withMail();
    const { id } = await invite();
    const [row] = await world.sql<{ id: string }[]>`update mails set expires_at = now() - interval '1 second' where cause->>'memberId' = ${id} returning id`;
    await server.run();
    expect(await settled(organization, id)).toMatchObject({ invitationMail: "failed", invitationMailFailure: "It expired before it could be sent." });
    await giveUpMail(server.deps)({ mailId: row?.id ?? "" }, new AbortController().signal);
    expect(await eventsOf(organization, "member.invitation-mail-failed")).toHaveLength(1);
    expect(mailServer.received).toEqual([]);
  });

  test("opens what another key sealed, also after a rotation", async () => {
    const { mailServer, server, invite } = await withMail();
    const { email } = await invite();
    const { keyring } = world.config;
    const renewed = createKeyring([Buffer.alloc(32, 9), Buffer.alloc(32, 7)]);
    const totals = await resealAll(world.sql, renewed, () => {});
    expect(totals.find(({ table }) => table === "mails")?.resealed).toBeGreaterThan(0);
    server.deps.config.keyring = renewed;
    await server.run();
    const [mail] = await mailServer.has(1);
    expect(mail?.to).toBe(email);
    await resealAll(world.sql, createKeyring([Buffer.alloc(32, 7), Buffer.alloc(32, 9)]), () => {});
    server.deps.config.keyring = keyring;
  });

  test("sends 1,000 that wait at a start, each once, over a few connections and a few at a time", async () => {
    const { mailServer, server, organization } = await withMail();
    const { deps } = server;
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const COUNT = 1_000;
    await deps.sql.begin(async (tx) => {
      for (let index = 0; index < COUNT; index++) {
        const cause = { kind: "invitation" as const, organizationId: organization.id, memberId: crypto.randomUUID() };
        const mail = { to: { name: "", address: `user-${index}@people.example` }, subject: "Hello", body: ["Hello"] };
        await enqueueMail(tx, { keyring: deps.config.keyring, queue: deps.queue }, { id: Bun.randomUUIDv7(), cause, mail, expiresAt });
      }
    });
    await server.run();
    let active = 0;
    while (mailServer.received.length < COUNT) {
      const [row] = await deps.sql`select count(*)::int as count from pgboss.job where name = 'send-mail' and state = 'active'`;
      active = Math.max(active, row?.count);
      await Bun.sleep(100);
    }
    while ((await pending()) > 0) await Bun.sleep(20);
    expect(new Set(mailServer.received.map(({ to }) => to)).size).toBe(COUNT);
    expect(mailServer.received).toHaveLength(COUNT);
    expect(mailServer.connections().most).toBeLessThanOrEqual(MAX_CONNECTIONS + 1); // one looks at the start whether the server answers
    expect(active).toBeLessThanOrEqual(MAILS_AT_ONCE);
  });
});
