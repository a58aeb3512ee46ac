import { randomInt } from "node:crypto";
import { exchangeDatagrams } from "#outbound/datagrams";
import { codeOf, describeFailure, failure } from "#outbound/failure";
import type { Limits } from "#outbound/http-client";
import { openSockets } from "#outbound/sockets";
import { bracketed, describeEndpoint, type Endpoint } from "../rules/endpoint";
import { DnsFault } from "../rules/fault";
import { decodeMessage, encodeMessage, HEADER_SIZE, type Message, type RecordType, TYPE } from "../rules/wire/messages";

/** How long one question to one server may take, with its repetitions. */
const ASK_MS = 5_000;

type Question = { name: string; type: RecordType; isRecursive: boolean };

/** Returns a server's answer to one question: over UDP, or over TCP where it is too long. Throws a DnsFault that names the server. */
export async function ask(server: Endpoint, { name, type, isRecursive }: Question, { allowPrivate, signal }: Limits, label = nameOf(server)): Promise<Message> {
  const id = newId();
  const question = { name, type: TYPE[type] };
  const limits = { allowPrivate, signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]) };
  return explaining(label, limits.signal, async () => {
    const datagram = encodeMessage({ id, isRecursive, question });
    const isAnswer = (bytes: Buffer) => bytes.length >= HEADER_SIZE && bytes.readUInt16BE(0) === id && bytes.readInt8(2) < 0;
    const first = readAnswer(await exchangeDatagrams({ address: server.host, port: server.port, datagram, isAnswer }, limits), id);
    const answer = first?.isTruncated ? readAnswer(await exchangeFramed(server, datagram, limits), id) : first;
    if (answer?.question?.name !== name || answer.question.type !== question.type) throw new DnsFault(`${label} answers something that is not DNS.`);
    return answer;
  });
}

/** Returns what a server answers to a message over TCP, and its bytes. Throws a DnsFault that names the server. */
export async function askByTcp(server: Endpoint, request: Buffer, { allowPrivate, signal }: Limits): Promise<{ bytes: Buffer; message: Message }> {
  const label = nameOf(server);
  const limits = { allowPrivate, signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]) };
  return explaining(label, limits.signal, async () => {
    const bytes = await exchangeFramed(server, request, limits);
    const message = readAnswer(bytes, request.readUInt16BE(0));
    if (!message) throw new DnsFault(`${label} answers something that is not DNS.`);
    return { bytes, message };
  });
}

export const newId = () => randomInt(65_536);

export const nameOf = (server: Endpoint) => `The name server ${describeEndpoint(server)}`;

function readAnswer(bytes: Buffer, id: number) {
  const message = decodeMessage(bytes);
  return message?.isAnswer && message.id === id ? message : undefined;
}

/** One message and its answer over TCP, each after its length. */
async function exchangeFramed({ host, port }: Endpoint, message: Buffer, limits: Limits): Promise<Buffer> {
  const sockets = openSockets({ host: bracketed(host), port }, limits);
  try {
    const socket = await sockets.open();
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const parts: Buffer[] = [];
    let size = 0;
    let wanted = 2;
    socket.on("error", reject);
    socket.on("close", () => reject(failure("ECONNRESET")));
    socket.on("data", (part: Buffer) => {
      parts.push(part);
      size += part.length;
      if (size < wanted) return;
      const received = Buffer.concat(parts);
      wanted = 2 + received.readUInt16BE(0);
      if (size >= wanted) resolve(received.subarray(2, wanted));
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    return await sockets.untilEnd(promise);
  } finally {
    sockets.close();
  }
}

/** Does `work`; what fails is thrown as a fault of the server. */
async function explaining<Value>(label: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw toFault(label, error, signal);
  }
}

/** A failed call as a fault of the one who was called. */
export function toFault(label: string, error: unknown, signal: AbortSignal): DnsFault {
  if (error instanceof DnsFault) return error;
  if (signal.aborted) return new DnsFault(`${label} did not answer in time.`);
  const words = describeFailure(error);
  return new DnsFault(words.startsWith("It ") ? `${label}${words.slice(2)}` : `${label}: ${words}`, { isFinal: codeOf(error) === "PRIVATE_TARGET" });
}
