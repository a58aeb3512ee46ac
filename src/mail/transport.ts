import type { Socket } from "node:net";
import { explain } from "./failure";
import { type Mail, type QueuedMail, toMessage, urlsOf } from "./message";
import type { MailSettings } from "./settings";

/** Sends mails to the server of SMTP_URL. */
export type MailTransport = ReturnType<typeof createMailTransport>;

/** Connections to the server, at most; one that is idle is closed. */
export const MAX_CONNECTIONS = 4;
const CONNECT_MS = 10_000;
const GREETING_MS = 15_000;
/** A server may think for long before it answers the end of a message. */
const SILENCE_MS = 60_000;
const IDLE_MS = 30_000;

type Options = {
  greetingMs?: number;
  silenceMs?: number;
  /** A user signs in also where the server does not offer it. */
  mustSignIn?: boolean;
  /** Connects to the server in nodemailer's place. */
  getSocket?: (options: unknown, give: (error: Error | null, found?: { connection: Socket }) => void) => void;
  explainFailure?: typeof explain | ((error: unknown) => Error);
};

/** Opens no connection before there is something to send. Times out, and tries nothing again by itself. */
export function createMailTransport({ server, sender }: MailSettings, options: Options = {}) {
  const { greetingMs = GREETING_MS, silenceMs = SILENCE_MS, mustSignIn = false, getSocket, explainFailure = explain } = options;
  const { host, port, isSecure, requiresTls, isVerified, ca, user, password } = server;
  const { createTransport } = require("nodemailer") as typeof import("nodemailer"); // most servers send no mail, and start sooner without it
  const pool = createTransport({
    pool: true,
    host,
    port,
    secure: isSecure,
    requireTLS: requiresTls && !isSecure,
    tls: { rejectUnauthorized: isVerified, ...(ca && { ca }) },
    ...(user && { auth: { user, pass: password ?? "" } }),
    forceAuth: mustSignIn && user !== undefined,
    maxConnections: MAX_CONNECTIONS,
    maxRequeues: 0, // a mail that may have gone out is the queue's affair
    connectionTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    greetingTimeout: greetingMs,
    socketTimeout: silenceMs,
    idleTimeout: IDLE_MS,
    ...(getSocket && { getSocket }),
  });
  const secrets = password ? [password, Buffer.from(password).toString("base64")] : [];

  /** Throws a `MailFailure` where the server does not take the mail. */
  async function send(queued: QueuedMail) {
    const message = toMessage(queued, sender);
    try {
      await pool.sendMail(message);
    } catch (error) {
      throw explainFailure(error, server, [...secrets, ...hiddenIn(queued.mail), message.to.address]);
    }
    return message.messageId;
  }

  /** Connects and signs in, sends nothing, and throws a `MailFailure` where that fails. */
  async function verify() {
    try {
      await pool.verify();
    } catch (error) {
      throw explainFailure(error, server, secrets);
    }
  }

  return { at: `${host}:${port}`, send, verify, close: () => pool.close() };
}

/** Links, and what follows the # of each, which may be a token. */
const hiddenIn = (mail: Mail) => urlsOf(mail).flatMap((url) => [url, url.split("#")[1] ?? ""]);
