import { afterEach, describe, expect, test } from "bun:test";
import type { DnsFault } from "#modules/issuance/dns/rules/fault";
import { encodeMessage, OPCODE, TYPE } from "#modules/issuance/dns/rules/wire/messages";
import { ask, askByTcp } from "#modules/issuance/dns/services/ask";
import { framed, startDnsServer } from "../../../support/issuance/dns-server";
import { solverOf } from "../../../support/issuance/zones";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function start(...given: Parameters<typeof startDnsServer>) {
  const server = await startDnsServer(...given);
  stops.push(server.stop);
  return server;
}

/** The request as an answer without records, with these flags; a question of its own where one is given. */
function answerTo(request: Buffer, { flags = 0x8400, name }: { flags?: number; name?: string } = {}) {
  const bytes = name === undefined ? Buffer.from(request) : encodeMessage({ id: request.readUInt16BE(0), question: { name, type: TYPE.TXT } });
  bytes.writeUInt16BE(flags, 2);
  return bytes;
}

const limits = (signal: AbortSignal) => ({ allowPrivate: true, signal });
const never = new AbortController().signal;
const question = { name: "a.example.test", type: "TXT", isRecursive: false } as const;
const messageOf = (work: Promise<unknown>) => work.catch(({ message }: DnsFault) => message);

describe("a question", () => {
  test("is asked again where the first datagram is lost", async () => {
    let asked = 0;
    const server = await start({ udp: (request, reply) => ++asked > 1 && reply(answerTo(request)) });
    expect(await ask(server.endpoint, question, limits(never))).toMatchObject({ code: 0, isAuthoritative: true, answers: [] });
    expect(asked).toBe(2);
  });

  test("takes no answer of another id, no request, and nothing that is no message: the true one may come after", async () => {
    const server = await start({
      udp: (request, reply) => {
        const other = answerTo(request);
        other.writeUInt16BE((request.readUInt16BE(0) + 1) % 65_536, 0);
        for (const each of [other, request, Buffer.from("garbage"), Buffer.alloc(0), answerTo(request)]) reply(each);
      },
    });
    expect(await ask(server.endpoint, question, limits(never))).toMatchObject({ code: 0 });
  });

  test("ends with its deadline where nothing comes", async () => {
    const server = await start({});
    expect(await messageOf(ask(server.endpoint, question, limits(AbortSignal.timeout(300))))).toBe(`The name server ${server.address} did not answer in time.`);
  });

  test("ends with its deadline where the answer is to follow over TCP, and does not", async () => {
    const server = await start({ udp: (request, reply) => reply(answerTo(request, { flags: 0x8600 })), tcp: (_, socket) => socket.write("\0") });
    expect(await messageOf(ask(server.endpoint, question, limits(AbortSignal.timeout(300))))).toBe(`The name server ${server.address} did not answer in time.`);
  });

  test.each([
    ["garbage with the right id", (request: Buffer) => Buffer.concat([answerTo(request).subarray(0, 12), Buffer.from("garbage")])],
    ["another question", (request: Buffer) => answerTo(request, { name: "b.example.test" })],
    ["no question", (request: Buffer) => Buffer.concat([answerTo(request).subarray(0, 4), Buffer.alloc(8)])],
    ["more records than it has", (request: Buffer) => Buffer.concat([answerTo(request).subarray(0, 6), Buffer.from([1, 0, 0, 0, 0, 0]), request.subarray(12)])],
  ])("that is answered by %s fails at once", async (_, answer) => {
    const server = await start({ udp: (request, reply) => reply(answer(request)) });
    expect(await messageOf(ask(server.endpoint, question, limits(never)))).toBe(`The name server ${server.address} answers something that is not DNS.`);
  });

  test("goes to no private address where such are not allowed", async () => {
    const server = await start({ udp: (request, reply) => reply(answerTo(request)) });
    expect(await messageOf(ask(server.endpoint, question, { allowPrivate: false, signal: never }))).toBe(
      `The name server ${server.address}: Its host name leads to a private, local or reserved address.`,
    );
  });
});

describe("an update", () => {
  const config = (server: string) => ({ followCname: false, server });
  const present = (server: string, signal = never) =>
    solverOf({ server, port: 53 }, { config: config(server) }).present({ name: "_acme-challenge.a.test", value: "v" }, signal);

  test("ends with its deadline where the server never answers, or drips", async () => {
    for (const tcp of [undefined, (_: Buffer, socket: { write: (text: string) => void }) => socket.write("\xff")]) {
      const server = await start({ ...(tcp && { tcp }) });
      expect(await messageOf(present(server.address, AbortSignal.timeout(300)))).toBe(`The name server ${server.address} did not answer in time.`);
    }
  });

  test("fails where the server closes, or answers garbage", async () => {
    const closing = await start({ tcp: (_, socket) => socket.end() });
    expect(await messageOf(present(closing.address))).toBe(`The name server ${closing.address} closed the connection without an answer.`);
    const garbage = await start({ tcp: (_, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n".padEnd(20_000)) });
    expect(await messageOf(present(garbage.address))).toBe(`The name server ${garbage.address} answers something that is not DNS.`);
    const refusing = await start({});
    refusing.stop();
    stops.pop();
    expect(await messageOf(present(refusing.address))).toBe(`The name server ${refusing.address} refused the connection.`);
  });

  test("is not believed without a signature, nor with one of another request", async () => {
    const unsigned = await start({ tcp: (bytes, socket) => socket.end(framed(answerTo(stripped(bytes)))) });
    expect(await messageOf(present(unsigned.address))).toBe(`The name server ${unsigned.address} answered without a signature, so its answer is not believed.`);
    const echoing = await start({
      tcp: (bytes, socket) => {
        const answer = Buffer.from(bytes.subarray(2));
        answer.writeUInt16BE(0x8400, 2);
        socket.end(framed(answer));
      },
    });
    expect(await messageOf(present(echoing.address))).toBe(`The name server ${echoing.address} signed its answer wrongly, so it is not believed.`);
  });

  test("over TCP, in one message of its bytes", async () => {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const server = await start({ tcp: (bytes, socket) => socket.end(framed(answerTo(bytes.subarray(2))), () => resolve(bytes)) });
    const request = encodeMessage({ id: 7, opcode: OPCODE.UPDATE, question: { name: "a.test", type: TYPE.SOA } });
    const { message } = await askByTcp(server.endpoint, request, limits(never));
    expect(message).toMatchObject({ id: 7, code: 0, question: { name: "a.test", type: TYPE.SOA } });
    expect(await promise).toEqual(framed(request));
  });
});

/** A request as it came over TCP, without its signature. */
function stripped(bytes: Buffer) {
  const message = Buffer.from(bytes.subarray(2));
  message.writeUInt16BE(0, 10);
  return message.subarray(0, message.indexOf(Buffer.from("\x04acme")));
}
