import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:net";
import { deliver, openChannel } from "../../../support/server/channels";
import { privateWorld } from "../../../support/server/connections";
import { addEvent, dispatch } from "../../../support/server/dispatching";
import { reply, startMailServer } from "../../../support/server/mail-server";
import { newOrganization } from "../../../support/server/people";
import { DELIVERING, runShared } from "../../../support/server/shared-jobs";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const expiring = (commonName: string) => ({ commonName, notAfter: new Date(Date.now() + 14 * 86_400_000).toISOString(), days: 14 });
const RECIPIENTS = ["ada@team.example", "grace@team.example", "alan@team.example"];

/** An organization with a mail server of its own; `received` makes an event and has it delivered. */
async function withServer(behaviour: Parameters<typeof startMailServer>[0] = {}, config: object = {}, secrets: object = {}) {
  const server = await startMailServer(behaviour);
  stops.push(server.stop);
  const organization = await newOrganization();
  const fields = { host: "127.0.0.1", port: server.port, security: "none", fromAddress: "pki@team.example", recipients: RECIPIENTS, ...config };
  const channel = await openChannel(organization, "smtp", fields, secrets);
  async function received(title = "Handbook") {
    await addEvent(organization.id, { kind: "document_failed", facts: { title } });
    await dispatch();
    await deliver();
    return (await channel.deliveries())[0];
  }
  const again = async () => {
    await channel.hurry();
    await deliver();
    return (await channel.deliveries())[0];
  };
  return { server, organization, channel, received, again, reached: () => server.received.map(({ to }) => to).toSorted() };
}

describe("a channel that is a mail server", () => {
  test("mails each recipient on its own, from the address of its config", async () => {
    const { server, received, reached } = await withServer();
    expect(await received("{{title}}\r\nBcc: eve@evil.example")).toMatchObject({ state: "delivered", lastStatus: null });
    expect(reached()).toEqual(RECIPIENTS.toSorted());
    const [mail] = server.received;
    expect(mail?.headers).toMatch(/^From: Certitude <pki@team\.example>$/m);
    expect(mail?.headers).not.toMatch(/^Bcc/m);
    expect(mail?.headers).toContain("Subject: Document failed (warning)");
    expect(mail?.text).toStartWith("{{title}}  Bcc: eve@evil.example could not be indexed\r\n");
    expect(new Set(server.received.map(({ messageId }) => messageId)).size).toBe(3);
  });

  test("refuses one of three for good: the others have it, and get no second one", async () => {
    const { server, channel, received, reached } = await withServer({
      recipient: (address, attempt) => (address === RECIPIENTS[1] && attempt === 1 ? 550 : "take"),
    });
    const failed = await received();
    expect(failed).toMatchObject({ state: "failed", lastStatus: 550, reason: "The mail server refuses the recipient (550)." });
    expect(reached()).toEqual([RECIPIENTS[0], RECIPIENTS[2]].toSorted() as string[]);
    await channel.redeliver(failed.id);
    await deliver();
    expect(await channel.deliveries()).toMatchObject([{ state: "delivered" }]);
    expect([reached(), server.received.length]).toEqual([RECIPIENTS.toSorted(), 3]);
  });

  test("greylists one of three: it is tried again, alone, with the same Message-ID", async () => {
    const { server, received, again, reached } = await withServer({
      recipient: (address, attempt) => (address === RECIPIENTS[0] && attempt === 1 ? 450 : "take"),
    });
    expect(await received()).toMatchObject({ state: "pending", lastStatus: 450, reason: "The mail server does not take the recipient yet (450)." });
    expect(await again()).toMatchObject({ state: "delivered" });
    expect([reached(), server.received.length]).toEqual([RECIPIENTS.toSorted(), 3]);
  });

  test("dies in the middle of DATA: nothing is lost or doubled", async () => {
    const { received, again, reached } = await withServer({ begun: (attempt) => (attempt === 1 ? "drop" : "take") });
    const first = await received();
    expect(first.state).toBe("pending");
    expect(first.reason).not.toContain("team.example");
    expect(await again()).toMatchObject({ state: "delivered" });
    expect(reached()).toEqual(RECIPIENTS.toSorted());
  });

  test("refuses the password: the reason quotes nothing of it", async () => {
    const options = {
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_: unknown, __: unknown, done: (error: Error) => void) => done(reply(535, "no s3cr3t")),
    };
    const { received } = await withServer({ options }, { username: "ada" }, { password: "s3cr3t" });
    expect(await received()).toMatchObject({ state: "pending", lastStatus: 535, reason: "The mail server refuses the user name and the password (535)." });
  });

  test("cannot prove its name where the connection asks for TLS: nothing is sent", async () => {
    const { server, received } = await withServer({}, { security: "starttls" });
    expect(await received()).toMatchObject({ state: "pending", reason: "Its TLS certificate is not trusted." });
    expect(server.received).toEqual([]);
  });

  test("has a subject of the kind's own words: of names that others chose it holds none, whatever they are", async () => {
    const { server, organization, channel } = await withServer();
    await addEvent(organization.id, { kind: "certificate_expiring", facts: expiring("Your invoice is due, call 0900") });
    await dispatch();
    await deliver();
    await channel.tryOut();
    const subjects = server.received.map(({ headers }) => /^Subject: (.*)$/m.exec(headers)?.[1]?.trim());
    expect(new Set(subjects)).toEqual(new Set(["Certificate expiring (warning)", "Test: certificate expiring (info)"]));
  });

  test("429 beyond 100 mails of tests and redeliveries of an organization in a day, counted by recipient", async () => {
    const recipients = Array.from({ length: 40 }, (_, index) => `on-call+${index}@team.example`);
    const { server, organization, channel, received } = await withServer({}, { recipients });
    const { id } = await received();
    const redeliver = () => organization.admin("POST", `${channel.path}/deliveries/${id}/redeliver`, { url: privateWorld.url });
    expect(await channel.tryOut()).toMatchObject({ outcome: "delivered" });
    expect((await redeliver()).status).toBe(202);
    await deliver();
    const taken = server.received.length;
    expect(taken).toBe(120);
    const message = "Tests and redeliveries of this organization may send 100 mails a day. Try again later.";
    expect(await channel.tryOut()).toEqual({ message });
    expect(await redeliver()).toMatchObject({ status: 429, body: { message } });
    await deliver();
    expect(server.received.length).toBe(taken);
  });

  test("is away, or never greets", async () => {
    const { server, channel, received } = await withServer();
    await server.stop();
    stops.splice(0);
    expect(await received()).toMatchObject({ state: "pending", reason: "It refused the connection." });
    const silent = createServer((socket) => socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(server.port, "127.0.0.1", resolve));
    stops.push(() => silent.close());
    expect(await channel.tryOut()).toMatchObject({ outcome: "failed", message: "It did not answer in time." });
  });

  test("is not reached at a private address, unless that is allowed", async () => {
    const { server, channel, organization } = await withServer();
    await addEvent(organization.id, { kind: "document_failed", facts: { title: "x" } });
    await dispatch();
    await runShared(DELIVERING, world.deps);
    expect(await channel.deliveries()).toMatchObject([{ state: "failed", reason: "Its host name leads to a private, local or reserved address." }]);
    expect(server.connections().all).toBe(0);
  });

  test("has no recipients", async () => {
    const { received } = await withServer({}, { recipients: [] });
    expect(await received()).toMatchObject({ state: "failed", reason: "The connection has no recipients." });
  });

  test("a test delivery is marked as one", async () => {
    const { server, channel } = await withServer();
    expect(await channel.tryOut()).toMatchObject({ outcome: "delivered", status: null, message: "It was delivered." });
    expect(server.received[0]?.headers).toMatch(/^Subject: Test: /m);
  });
});
