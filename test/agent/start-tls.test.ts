import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { thisHost } from "#agent/host/host";
import { verifyEndpoint } from "#agent/verify";
import type { StartTls } from "#modules/fleet/trust-stores/rules/start-tls";
import { type Issued, newAuthority } from "../support/pki/authority";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let leaf: Issued;
beforeAll(async () => {
  authority = await newAuthority();
  leaf = await authority.issueServer("good.test");
});
afterAll(() => authority.remove());

/** What a server says: `greeting` at once, then an answer to each thing that it hears; TLS begins after the last. */
type Script = { greeting: string | Buffer; answers: [heard: RegExp, answer: string | Buffer][] };

const extended = (code: number) => Buffer.from([0x30, 12, 2, 1, 1, 0x78, 7, 0x0a, 1, code, 4, 0, 4, 0]);
const mysql = (capabilities: number) => {
  const payload = Buffer.concat([
    Buffer.from([10]),
    Buffer.from("11.4.2-MariaDB\0"),
    Buffer.alloc(13),
    Buffer.from([capabilities & 0xff, capabilities >> 8]),
    Buffer.alloc(20),
  ]);
  return Buffer.concat([Buffer.from([payload.length, 0, 0, 0]), payload]);
};
const stream = (features: string) => `<?xml version='1.0'?><stream:stream id='1'><stream:features>${features}</stream:features>`;
const TLS_FEATURE = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>";

/** But for MySQL, whose client does not wait before TLS: the real server proves it. */
const GOOD: [StartTls, Script][] = [
  ["none", { greeting: "", answers: [] }],
  [
    "smtp",
    {
      greeting: "220-one\r\n220 two\r\n",
      answers: [
        [/^EHLO \S+\r\n$/, "250-good.test\r\n250-STARTTLS\r\n250 HELP\r\n"],
        [/^STARTTLS\r\n$/, "220 go\r\n"],
      ],
    },
  ],
  ["imap", { greeting: "* OK ready\r\n", answers: [[/^a STARTTLS\r\n$/, "* untagged\r\na OK go\r\n"]] }],
  ["pop3", { greeting: "+OK ready\r\n", answers: [[/^STLS\r\n$/, "+OK go\r\n"]] }],
  ["ftp", { greeting: "220 ready\r\n", answers: [[/^AUTH TLS\r\n$/, "234 go\r\n"]] }],
  ["nats", { greeting: 'INFO {"server_id":"x","tls_required":true}\r\n', answers: [] }],
  [
    "xmpp",
    {
      greeting: "",
      answers: [
        [/<stream:stream to='good\.test'/, stream(TLS_FEATURE)],
        [/^<starttls/, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"],
      ],
    },
  ],
  ["ldap", { greeting: "", answers: [[/1\.3\.6\.1\.4\.1\.1466\.20037/, extended(0)]] }],
  ["postgres", { greeting: "", answers: [[/\/$/, "S"]] }],
];

const BAD: [StartTls, Script, RegExp][] = [
  ["smtp", { greeting: "554 go away\r\n", answers: [] }, /it does not speak as a server of SMTP does/],
  [
    "smtp",
    {
      greeting: "220 a\r\n",
      answers: [
        [/^EHLO/, "250 a\r\n"],
        [/^STARTTLS/, "454 TLS not available\r\n"],
      ],
    },
    /SMTP server does not begin TLS: it answers ‹"454 TLS not available"›/,
  ],
  ["imap", { greeting: "* OK a\r\n", answers: [[/^a STARTTLS/, "a BAD what\r\n"]] }, /IMAP server does not begin TLS: it answers ‹"a BAD what"›/],
  ["pop3", { greeting: "+OK a\r\n", answers: [[/^STLS/, "-ERR no\r\n"]] }, /POP3 server does not begin TLS: it answers ‹"-ERR no"›/],
  ["ftp", { greeting: "220 a\r\n", answers: [[/^AUTH/, "530 Please login\r\n"]] }, /FTP server does not begin TLS: it answers ‹"530 Please login"›/],
  ["nats", { greeting: 'INFO {"tls_required":false}\r\n', answers: [] }, /NATS server does not begin TLS/],
  ["nats", { greeting: "220 a\r\n", answers: [] }, /it does not speak as a server of NATS does/],
  ["xmpp", { greeting: "", answers: [[/<stream/, stream("<bind/>")]] }, /XMPP server does not begin TLS/],
  ["ldap", { greeting: "", answers: [[/1466/, extended(2)]] }, /LDAP server does not begin TLS/],
  [
    "ldap",
    { greeting: "", answers: [[/1466/, "HTTP/1.1 400 Bad Request of some length, so that it is whole for a reader of LDAP\r\n\r\n"]] },
    /it does not speak as a server of LDAP does/,
  ],
  ["mysql", { greeting: mysql(0x0200), answers: [] }, /this MySQL server does not speak TLS/],
  ["mysql", { greeting: Buffer.from([3, 0, 0, 0, 0xff, 1, 1]), answers: [] }, /it does not speak as a server of MySQL does/],
  ["postgres", { greeting: "", answers: [[/./, "N"]] }, /its setting ssl is off/],
  ["smtp", { greeting: "x".repeat(70_000), answers: [] }, /it does not speak as a server of SMTP does/],
];

/** A server that holds to the script, and then speaks TLS; `isSlow` sends it byte by byte. */
async function serve({ greeting, answers }: Script, isSlow: boolean) {
  const sockets = new Set<Socket>();
  async function say(socket: Socket, words: string | Buffer) {
    if (!isSlow) return void socket.write(words);
    for (const byte of Buffer.from(words)) {
      socket.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
  }
  const server = createServer(async (socket) => {
    sockets.add(socket.on("error", () => {}));
    let seen = "";
    let look = () => {};
    const hear = (bytes: Buffer) => {
      seen += bytes.toString("latin1");
      look();
    };
    socket.on("data", hear);
    if (greeting.length > 0) await say(socket, greeting);
    for (const [heard, answer] of answers) {
      await new Promise<void>((resolve) => {
        look = () => heard.test(seen) && resolve();
        look();
      });
      seen = "";
      if (answer.length > 0) await say(socket, answer);
    }
    socket.off("data", hear);
    const tls = { key: leaf.privateKeyPem, cert: leaf.pem + leaf.chain.slice(0, -1).join("") };
    new TLSSocket(socket, { isServer: true, ...tls }).on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const stop = () => {
    for (const each of sockets) each.destroy();
    server.close();
  };
  return { port, stop };
}

const patience = { tool: 60_000, connection: 60_000, reload: 60_000 }; // a busy machine has its time
const host = { ...thisHost({}), patience };

async function faultAt(port: number, verifyStartTls: StartTls) {
  const { pem, fingerprint } = authority.root;
  const config = { verifyEndpoint: `tls://127.0.0.1:${port}`, verifyServerName: "good.test", verifyStartTls };
  const target = { assignmentId: crypto.randomUUID(), storeType: "pem_files", materialType: "trust_anchor", alias: "a", config } as const;
  return verifyEndpoint(target, { certificate: pem, fingerprint, chain: [], privateKey: null }, [pem], host).then(
    () => undefined,
    ({ message }: Error) => message,
  );
}

describe("verifyEndpoint in a protocol that is asked for TLS", () => {
  test.each(GOOD)("%s: it begins, however slowly the server speaks", async (protocol, script) => {
    for (const isSlow of [false, true]) {
      const { port, stop } = await serve(script, isSlow);
      expect(await faultAt(port, protocol)).toBeUndefined();
      stop();
    }
  });

  test.each(BAD)("%s: refused in words", async (protocol, script, words) => {
    const { port, stop } = await serve(script, false);
    expect(await faultAt(port, protocol)).toMatch(words);
    stop();
  });
});
