import type { Values } from "#catalogue/fields";
import { readAddress, showLookAlikes } from "#mail/address";
import type { Mail } from "#mail/message";
import type { MailSettings } from "#mail/settings";
import { createMailTransport } from "#mail/transport";
import type { Limits } from "#outbound/http-client";
import { openSockets } from "#outbound/sockets";
import { explainSmtp } from "../rules/formats/smtp";
import { headline, linesOf, type Message } from "../rules/message";
import { type Failed, fail, type Outcome } from "../rules/outcome";

type MailDelivery = { values: Values; message: Message; done: readonly string[] };
export type Mailed = { outcome: Outcome; done: string[] };

/**
 * Mails the recipients of a channel, each on its own, but for those in `done`. Returns who has the mail now, and how it went: a failure
 * that is to be tried again counts before one that is final.
 */
export async function deliverByMail({ values, message, done }: MailDelivery, limits: Limits): Promise<Mailed> {
  const server = openServer(values, limits);
  const recipients = recipientsOf(values).filter((each) => !done.includes(each));
  if (!server) return { outcome: fail(NO_SENDER, true), done: [...done] };
  if (recipients.length + done.length === 0) return { outcome: fail("The connection has no recipients.", true), done: [] };
  const { transport, sockets } = server;
  async function mail(address: string): Promise<{ address: string; failed?: Failed }> {
    try {
      await sockets.untilEnd(transport.send({ id: `${message.id}.${keyOf(address)}`, queuedAt: new Date(message.occurredAt), mail: toMail(message, address) }));
      return { address };
    } catch (error) {
      return { address, failed: explain(error, limits) };
    }
  }
  try {
    const results = await Promise.all(recipients.map(mail));
    const failures = results.flatMap(({ failed }) => failed ?? []);
    const taken = results.filter(({ failed }) => !failed).map(({ address }) => address);
    return { outcome: failures.find(({ isFinal }) => !isFinal) ?? failures[0] ?? { state: "delivered", status: null }, done: [...done, ...taken] };
  } finally {
    server.close();
  }
}

/** Signs in at the mail server of a channel, and sends nothing. Returns why that fails. */
export async function signIn(values: Values, limits: Limits): Promise<Failed | undefined> {
  const server = openServer(values, limits, true);
  if (!server) return fail(NO_SENDER, true);
  try {
    await server.sockets.untilEnd(server.transport.verify());
    return;
  } catch (error) {
    return explain(error, limits);
  } finally {
    server.close();
  }
}

export const recipientsOf = ({ recipients = [] }: Values) => recipients as string[];

const NO_SENDER = "The connection's fromAddress is none that mail can be sent from.";

const explain = (error: unknown, { signal }: Limits) => (signal.aborted ? fail("It did not answer in time.", false) : explainSmtp(error));

/** Connects to the mail server of a channel through `outbound`; undefined where its sender is none. */
function openServer(values: Values, limits: Limits, mustSignIn = false) {
  const settings = readSettings(values);
  if (!settings) return;
  const sockets = openSockets({ host: String(values.host), port: Number(values.port) }, limits);
  const transport = createMailTransport(settings, {
    mustSignIn,
    getSocket: (_, give) =>
      void sockets.open().then(
        (connection) => give(null, { connection }),
        (error) => give(error),
      ),
    explainFailure: (error: unknown) => error as Error,
  });
  function close() {
    transport.close();
    sockets.close();
  }
  return { transport, sockets, close };
}

const keyOf = (address: string) => Bun.hash(address).toString(36);

function readSettings({ host, port, security, username, password, fromAddress }: Values): MailSettings | undefined {
  const address = readAddress(String(fromAddress));
  if (!address) return;
  const name = String(host).replace(/^\[|\]$/g, "");
  const server = {
    host: name,
    port: Number(port),
    isSecure: security === "tls",
    requiresTls: security === "starttls",
    isVerified: security !== "none",
    ...(username !== undefined && { user: String(username), password: String(password ?? "") }),
  };
  return { server, sender: { name: "Certitude", address: address.address } };
}

/** The kind's own words: a recipient may be a stranger, so that no name that others chose stands in a header. */
function subjectOf({ kind, severity, isTest }: Message) {
  const words = `${kind.replaceAll("_", " ")} (${severity})`;
  return isTest ? `Test: ${words}` : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const toMail = (message: Message, address: string): Mail => ({
  to: { name: "", address },
  subject: subjectOf(message),
  body: [
    ...[headline(message), message.message, ...linesOf(message).map((line) => `• ${line}`), message.organization.name].map(showLookAlikes),
    ...(message.url ? [{ label: "Open in Certitude", url: message.url }] : []),
  ],
});
