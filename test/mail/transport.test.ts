import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mint } from "#demo/mint";
import { MailFailure } from "#mail/failure";
import { createMailTransport } from "#mail/transport";
import { reply, startMailServer } from "../support/server/mail-server";
import { mailSettings } from "../support/server/mailing";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-mail-"));
afterAll(() => rmSync(directory, { recursive: true }));
const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
const authority = mint({ commonName: "Authority of the test", isCa: true, ...life });
const certificate = mint({ commonName: "localhost", dns: ["localhost"], issuer: authority, ...life });
const tls = { cert: certificate.pem, key: certificate.privateKey.export({ type: "pkcs8", format: "pem" }) as string, hideSTARTTLS: false };
const ca = join(directory, "ca.pem");
writeFileSync(ca, authority.pem);

const link = "https://certitude.example/invitations/accept#uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A";
const mail = { to: { name: "Ada", address: "ada@example.org" }, subject: "Hello", body: ["Hello", { label: "Open", url: link }] };
type Server = Awaited<ReturnType<typeof startMailServer>>;

/** Sends one mail, and returns what failed. */
async function failureAt(url: string, timeouts?: { greetingMs?: number; silenceMs?: number }) {
  const transport = createMailTransport(mailSettings(url), timeouts);
  const failure = await transport.send({ id: crypto.randomUUID(), queuedAt: new Date(), mail }).then(
    () => undefined,
    (error) => error,
  );
  transport.close();
  if (failure && !(failure instanceof MailFailure)) throw failure;
  return failure && { concerns: failure.concerns, message: failure.message };
}

async function failureOf(options: Parameters<typeof startMailServer>[0], urlOf = ({ url }: Server) => url) {
  const server = await startMailServer(options);
  const failure = await failureAt(urlOf(server));
  await server.stop();
  return { failure, received: server.received, at: `127.0.0.1:${server.port}` };
}
const viaName = (query: string) => (server: Server) => `smtp://localhost:${server.port}${query}`;

describe("a mail is taken", () => {
  test("with what its headers and both parts should hold", async () => {
    const { failure, received } = await failureOf({});
    expect(failure).toBeUndefined();
    expect(received).toHaveLength(1);
    const [one] = received;
    expect(one?.headers).toContain("From: Certitude <certitude@example.org>");
    expect(one?.headers).toContain("To: Ada <ada@example.org>");
    expect(one?.headers).toContain("Auto-Submitted: auto-generated");
    expect(one?.headers).not.toMatch(/x-mailer|list-unsubscribe/i);
    expect(one?.text).toContain(link);
    expect(one?.html).toContain(`href="${link}"`);
  });

  test("over STARTTLS, required, by an authority that SMTP_URL names", async () => {
    let wasSecure = false;
    const onMailFrom = (_: unknown, session: { secure: boolean }, done: () => void) => {
      wasSecure = session.secure;
      done();
    };
    const { failure } = await failureOf({ options: { ...tls, onMailFrom } }, viaName(`?requireTLS=true&ca=${encodeURIComponent(ca)}`));
    expect([failure, wasSecure]).toEqual([undefined, true]);
  });

  test("over STARTTLS where it is offered, on this machine without a known authority", async () => {
    let wasSecure = false;
    const onMailFrom = (_: unknown, session: { secure: boolean }, done: () => void) => {
      wasSecure = session.secure;
      done();
    };
    expect((await failureOf({ options: { ...tls, onMailFrom } })).failure).toBeUndefined();
    expect(wasSecure).toBe(true);
  });

  test("over smtps, with the right password", async () => {
    const onAuth: NonNullable<NonNullable<Parameters<typeof startMailServer>[0]>["options"]>["onAuth"] = ({ username, password }, _, done) =>
      username === "ada@x" && password === "p/w" ? done(null, { user: username }) : done(reply(535, "no"));
    const options = { ...tls, secure: true, authOptional: false, onAuth };
    const url = ({ port }: Server) => `smtps://ada%40x:p%2Fw@localhost:${port}?ca=${encodeURIComponent(ca)}`;
    expect((await failureOf({ options }, url)).failure).toBeUndefined();
  });
});

describe("a mail is not taken, which is said in plain words, by a server", () => {
  test("whose name is not found", async () => {
    expect(await failureAt("smtp://no-such-name.invalid")).toEqual({ concerns: "server", message: "The name no-such-name.invalid is not found." });
  });

  test("that refuses the connection", async () => {
    const server = await startMailServer();
    await server.stop();
    expect(await failureAt(server.url)).toEqual({ concerns: "server", message: `127.0.0.1:${server.port} refuses the connection.` });
  });

  test("that never answers", async () => {
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as { port: number };
    expect(await failureAt(`smtp://127.0.0.1:${port}`, { greetingMs: 100 })).toEqual({
      concerns: "server",
      message: `127.0.0.1:${port} takes the connection, but sends no greeting. A server that expects TLS at once needs smtps://.`,
    });
    mute.close();
  });

  test("that stops answering after the message", async () => {
    const server = await startMailServer({ whole: () => new Promise(() => {}) });
    expect(await failureAt(server.url, { silenceMs: 300 })).toEqual({ concerns: "server", message: `127.0.0.1:${server.port} has stopped answering.` });
    await server.stop();
  });

  test("that closes the connection at once", async () => {
    const closing = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => closing.listen(0, "127.0.0.1", resolve));
    const { port } = closing.address() as { port: number };
    expect(await failureAt(`smtp://127.0.0.1:${port}`)).toEqual({
      concerns: "server",
      message: `127.0.0.1:${port} closed the connection before it took a mail.`,
    });
    closing.close();
  });

  test.each([
    ["STARTTLS", (port: number) => `smtp://localhost:${port}?requireTLS=true`, {}],
    ["smtps", (port: number) => `smtps://localhost:${port}`, { secure: true }],
  ])("whose authority is not trusted (%s), and the message never leaves", async (_, urlOf, options) => {
    const { failure, received } = await failureOf({ options: { ...tls, ...options } }, ({ port }) => urlOf(port));
    expect(failure?.concerns).toBe("server");
    expect(failure?.message).toMatch(/^TLS with localhost:\d+ failed: .*certificate/);
    expect(received).toEqual([]);
  });

  test("whose certificate is for another name", async () => {
    const { failure } = await failureOf({ options: { ...tls } }, ({ port }) => `smtp://127.0.0.1:${port}?requireTLS=true&ca=${encodeURIComponent(ca)}`);
    expect(failure?.message).toMatch(/^TLS with 127\.0\.0\.1:\d+ failed: /);
  });

  test("that offers no STARTTLS where it is required", async () => {
    const { failure, at } = await failureOf({ options: { disabledCommands: ["STARTTLS"] } }, ({ url }) => `${url}?requireTLS=true`);
    expect(failure).toEqual({
      concerns: "server",
      message: `${at} offers no TLS (STARTTLS), and nothing is sent to it without. ?requireTLS=false in SMTP_URL allows it.`,
    });
  });

  test("that speaks no TLS where smtps expects it", async () => {
    const { failure } = await failureOf({}, ({ port }) => `smtps://localhost:${port}`);
    expect(failure?.message).toMatch(/^TLS with localhost:\d+ failed: /);
  });

  test("that refuses the password, even where it quotes it", async () => {
    const options = { authOptional: false, onAuth: (_: unknown, __: unknown, done: (error: Error) => void) => done(reply(535, "wrong: hunter2hunter2")) };
    const { failure, at } = await failureOf({ options }, ({ port }) => `smtp://ada:hunter2hunter2@127.0.0.1:${port}`);
    expect(failure).toEqual({ concerns: "server", message: `${at} refuses the user and the password of SMTP_URL (535).` });
  });

  test("that wants a password and is given none", async () => {
    const { failure } = await failureOf({ options: { authOptional: false } });
    expect(failure).toMatchObject({ concerns: "server", message: expect.stringContaining("refuses the sender of MAIL_FROM: 530") });
  });

  test("that refuses the sender", async () => {
    const onMailFrom = (_: unknown, __: unknown, done: (error: Error) => void) => done(reply(550, "not from here"));
    const { failure, at } = await failureOf({ options: { onMailFrom } });
    expect(failure).toEqual({ concerns: "server", message: `${at} refuses the sender of MAIL_FROM: 550 not from here` });
  });

  test("that refuses the recipient, for now or for good", async () => {
    const later = await failureOf({ recipient: () => 450 });
    expect(later.failure).toMatchObject({ concerns: "attempt", message: expect.stringContaining(`${later.at} does not take yet the recipient: 450 `) });
    const never = await failureOf({ recipient: () => 550 });
    expect(never.failure).toMatchObject({ concerns: "mail", message: expect.stringContaining(`${never.at} refuses the recipient: 550 `) });
  });

  test("that refuses the message for good, and quotes its link, its token and its addressee", async () => {
    const token = link.split("#")[1] ?? "";
    const onRefused = (stream: NodeJS.ReadableStream, _: unknown, done: (error: Error) => void) => {
      stream.resume();
      stream.on("end", () => done(reply(554, `spam: ${link} (${token}) for ada@example.org, see https://lists.example/x`)));
    };
    const { failure, at } = await failureOf({ options: { onData: onRefused as never } });
    expect(failure).toEqual({ concerns: "mail", message: `${at} refuses the message: 554 spam: … (…) for …, see …` });
  });

  test("that dies in the middle of DATA, or after the final dot", async () => {
    const inside = await failureOf({ begun: () => "drop" });
    expect(inside.failure).toMatchObject({ concerns: "server", message: expect.stringContaining(inside.at) });
    expect(inside.received).toEqual([]);
    const after = await failureOf({ whole: () => "drop" });
    expect(after.failure).toMatchObject({ concerns: "server", message: expect.stringContaining(after.at) });
    expect(after.received).toHaveLength(1);
  });
});
