import type { Socket } from "node:net";
import type { StartTls } from "#modules/fleet/trust-stores/rules/start-tls";
import { foreign } from "./host/foreign";

/** The plain part of a conversation. */
type Talk = {
  /** Sends, and returns what is answered once `isWhole` says that this is all of it. */
  ask(words: string | Buffer, isWhole: (answer: Buffer) => boolean): Promise<Buffer>;
};
type Conversation = (talk: Talk, serverName: string) => Promise<void>;

const MAX_ANSWER = 64 * 1024;

/** Asks a server in its own protocol to begin TLS. Where it answers no more, or hangs up, the caller's deadline ends the wait. */
export async function startTls(socket: Socket, protocol: StartTls, serverName: string) {
  if (protocol === "none") return;
  const { promise: failure, reject } = Promise.withResolvers<never>();
  let seen = Buffer.alloc(0);
  let settle = () => {};
  const receive = (bytes: Buffer) => {
    seen = Buffer.concat([seen, bytes]);
    if (seen.length > MAX_ANSWER) reject(isNo(protocol));
    settle();
  };
  async function ask(words: string | Buffer, isWhole: (answer: Buffer) => boolean) {
    if (words.length > 0) socket.write(words);
    const answered = new Promise<Buffer>((resolve) => {
      settle = () => isWhole(seen) && resolve(seen);
      settle();
    });
    const answer = await Promise.race([answered, failure]);
    settle = () => {};
    seen = Buffer.alloc(0);
    return answer;
  }
  socket.on("data", receive);
  try {
    await CONVERSATIONS[protocol]({ ask }, serverName);
  } finally {
    socket.off("data", receive);
  }
}

const NAMES = {
  smtp: "SMTP",
  imap: "IMAP",
  pop3: "POP3",
  ftp: "FTP",
  xmpp: "XMPP",
  ldap: "LDAP",
  mysql: "MySQL",
  nats: "NATS",
  postgres: "Postgres",
} satisfies Record<Exclude<StartTls, "none">, string>;

const isNo = (protocol: keyof typeof NAMES) => new Error(`it does not speak as a server of ${NAMES[protocol]} does`);
const refuses = (protocol: keyof typeof NAMES, answer: string) =>
  new Error(`this ${NAMES[protocol]} server does not begin TLS: it answers ${foreign(JSON.stringify(answer.trim().slice(0, 100)))}`);

/** How the last line of a whole answer begins: as any does, with a code without a hyphen, with the tag of the request. */
const LINE = /^./;
const CODED = /^\d{3} /;
const TAGGED = /^a /;

/** Returns the last line, empty where it has not arrived whole. */
function lastLine(answer: Buffer) {
  const text = answer.toString("latin1");
  return text.endsWith("\n") ? text.slice(text.lastIndexOf("\n", text.length - 2) + 1, -1) : "";
}

/** A protocol of lines: what is sent, how the last line of the answer looks, and how the one that goes on begins. */
function lines(protocol: keyof typeof NAMES, steps: [words: string, last: RegExp, expected: string][]): Conversation {
  return async ({ ask }) => {
    for (const [words, last, expected] of steps) {
      const line = lastLine(await ask(words && `${words}\r\n`, (seen) => last.test(lastLine(seen))));
      if (!line.startsWith(expected)) throw words ? refuses(protocol, line) : isNo(protocol);
    }
  };
}

/** Returns whether the text has an element of this name whose first tag is complete. */
function hasTag(text: string, name: string) {
  const start = text.indexOf(`<${name}`);
  return start >= 0 && text.includes(">", start);
}

const CONVERSATIONS: Record<Exclude<StartTls, "none">, Conversation> = {
  smtp: lines("smtp", [
    ["", CODED, "220 "],
    ["EHLO certitude", CODED, "250 "],
    ["STARTTLS", CODED, "220 "],
  ]),
  imap: lines("imap", [
    ["", LINE, "* OK"],
    ["a STARTTLS", TAGGED, "a OK"],
  ]),
  pop3: lines("pop3", [
    ["", LINE, "+OK"],
    ["STLS", LINE, "+OK"],
  ]),
  ftp: lines("ftp", [
    ["", CODED, "220 "],
    ["AUTH TLS", CODED, "234 "],
  ]),

  /** The server's first words say whether it goes on in TLS, which it then does. */
  async nats({ ask }) {
    const information = String(await ask("", (seen) => seen.includes("\n")));
    if (!information.startsWith("INFO {")) throw isNo("nats");
    if (!/"tls_(required|available)":\s*true/.test(information)) throw refuses("nats", information);
  },

  async xmpp({ ask }, serverName) {
    const stream = `<stream:stream to='${serverName}' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>`;
    const offer = await ask(`<?xml version='1.0'?>${stream}`, (seen) => /<\/stream:features>|<stream:features\/>|<stream:error|<\/stream/.test(String(seen)));
    if (!offer.includes("urn:ietf:params:xml:ns:xmpp-tls")) throw refuses("xmpp", String(offer));
    const answer = await ask(
      "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
      (seen) => hasTag(String(seen), "proceed") || hasTag(String(seen), "failure"),
    );
    if (!answer.includes("<proceed")) throw refuses("xmpp", String(answer));
  },

  /** RFC 4511, 4.14: an extended request whose name is the OID of StartTLS, answered by a result code. */
  async ldap({ ask }) {
    const oid = Buffer.from("1.3.6.1.4.1.1466.20037");
    const request = Buffer.from([0x30, oid.length + 7, 2, 1, 1, 0x77, oid.length + 2, 0x80, oid.length]);
    const answer = await ask(Buffer.concat([request, oid]), (seen) => seen.length > 1 && (seen[0] !== 0x30 || seen.length >= 2 + (seen[1] ?? 0)));
    const response = answer.indexOf(0x78);
    const result = answer.subarray(response + 2, response + 5);
    if (answer[0] !== 0x30 || response < 0) throw isNo("ldap");
    if (!result.equals(Buffer.from([0x0a, 1, 0]))) throw refuses("ldap", answer.toString("latin1"));
  },

  /** The server's greeting says whether it can; the answer is a request of 32 bytes, after which TLS begins at once. */
  async mysql({ ask }) {
    const packet = await ask("", (seen) => seen.length >= 4 && seen.length >= 4 + seen.readUIntLE(0, 3));
    const version = packet.indexOf(0, 5);
    if (packet[4] !== MYSQL_PROTOCOL || version < 0) throw isNo("mysql");
    if ((packet.readUInt16LE(version + 14) & MYSQL_SSL) === 0) throw new Error("this MySQL server does not speak TLS: its settings name no certificate");
    const request = Buffer.alloc(36);
    request.writeUIntLE(32, 0, 3);
    request[3] = 1;
    request.writeUInt32LE(MYSQL_SSL | 0x0200 | 0x8000, 4);
    request.writeUInt32LE(1 << 24, 8);
    request[12] = 33;
    await ask(request, () => true);
  },

  /** The message SSLRequest, answered by one letter. */
  async postgres({ ask }) {
    const request = Buffer.alloc(8);
    request.writeInt32BE(8, 0);
    request.writeInt32BE(80877103, 4);
    const answer = String(await ask(request, (seen) => seen.length > 0));
    if (answer === "N") throw new Error("this Postgres server does not speak TLS: its setting ssl is off");
    if (answer !== "S") throw new Error("it does not speak as a Postgres server does");
  },
};

const MYSQL_PROTOCOL = 10;
const MYSQL_SSL = 0x0800;
