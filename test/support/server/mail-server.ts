import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server";

export type Received = { to: string; messageId: string; raw: string; headers: string; text: string; html: string };
/** `drop` cuts the connection without an answer. A reply is given by its code. */
type Verdict = "take" | "drop" | number;
type Behaviour = {
  /** Of a recipient, at each attempt, counted from 1. */
  recipient?: (address: string, attempt: number) => Verdict;
  /** Once the message has begun, and once it is whole. */
  begun?: (attempt: number) => Verdict;
  whole?: (mail: Received, attempt: number) => Verdict | Promise<Verdict>;
  options?: SMTPServerOptions;
};

export const reply = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode });

/** A real mail server on loopback. `received` are the mails that it has taken, also where its answer was lost. */
export async function startMailServer({ recipient, begun, whole, options }: Behaviour = {}) {
  const received: Received[] = [];
  const attempts = new Map<string, number>();
  let open = 0;
  let most = 0;
  let connections = 0;

  function attemptOf(key: string) {
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    return attempt;
  }
  function cut(session: SMTPServerSession) {
    for (const each of server.connections as Set<{ id: string; _socket: { destroy: () => void } }>) if (each.id === session.id) each._socket.destroy();
  }
  function answer(verdict: Verdict, session: SMTPServerSession, callback: (error?: Error) => void) {
    if (verdict === "drop") cut(session);
    else callback(verdict === "take" ? undefined : reply(verdict, `As the test says, with ${session.envelope.rcptTo.map(({ address }) => address)}`));
  }

  const server = new SMTPServer({
    logger: false,
    disableReverseLookup: true,
    authOptional: true,
    hideSTARTTLS: true,
    onConnect(_session, callback) {
      connections++;
      most = Math.max(most, ++open);
      callback();
    },
    onClose() {
      open--;
    },
    onRcptTo({ address }, session, callback) {
      answer(recipient?.(address, attemptOf(`recipient ${address}`)) ?? "take", session, callback);
    },
    async onData(stream, session, callback) {
      const early = begun?.(attemptOf("begun")) ?? "take";
      if (early === "drop") return stream.once("data", () => cut(session));
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of stream) chunks.push(chunk as Buffer);
      } catch {
        return; // the client was killed in the middle
      }
      const mail = read(Buffer.concat(chunks).toString(), session.envelope.rcptTo[0]?.address ?? "");
      const verdict = (await whole?.(mail, attemptOf(`whole ${mail.messageId}`))) ?? "take";
      if (typeof verdict !== "number") received.push(mail);
      answer(verdict, session, callback);
    },
    ...options,
  });
  server.on("error", () => {}); // a client that is killed resets its connection
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;

  /** Waits for so many mails. */
  async function has(count: number) {
    while (received.length < count) await Bun.sleep(10);
    return received;
  }
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    has,
    attemptsAt: (address: string) => attempts.get(`recipient ${address}`) ?? 0,
    connections: () => ({ open, most, all: connections }),
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** The headers of a message with two parts, and the parts decoded. */
function read(raw: string, to: string): Received {
  const end = raw.indexOf("\r\n\r\n");
  const headers = raw.slice(0, end).replace(/\r\n[ \t]/g, " ");
  const boundary = /boundary="([^"]+)"/.exec(headers)?.[1] ?? "";
  const [, text = "", html = ""] = raw.split(`--${boundary}`).map(decodePart);
  return { to, raw, headers, text, html, messageId: /^message-id: (.+)$/im.exec(headers)?.[1] ?? "" };
}

function decodePart(part: string) {
  const body = part.slice(part.indexOf("\r\n\r\n") + 4);
  if (/transfer-encoding: base64/i.test(part)) return Buffer.from(body, "base64").toString();
  if (!/transfer-encoding: quoted-printable/i.test(part)) return body;
  const bytes = body.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}
