import { connect, type Socket } from "node:net";
import { world } from "./world";

/** A connection on which a test writes bytes that no HTTP client would send. */
export async function openRaw(url = world.url) {
  const { hostname, port } = new URL(url);
  const opened = Promise.withResolvers<void>();
  const socket: Socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ""), opened.resolve);
  let answered = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    if (isWhole(received)) answered.resolve(received);
  });
  socket.on("error", opened.reject);
  socket.on("close", () => answered.resolve(received));
  await opened.promise;
  return {
    write: (text: string | Uint8Array) => void socket.write(text),
    /** The first answer, or what came until the server hung up. */
    answer: async () => parse(await answered.promise),
    /** Begins another request, after the last one was answered: `answer` is the next one's. */
    begin(text: string) {
      received = "";
      answered = Promise.withResolvers();
      socket.write(text);
    },
    /** Returns the bytes since then, of an answer without an end too. */
    received: () => received,
    close: () => socket.destroy(),
  };
}

/** One request on a connection of its own. */
export async function sendRaw(text: string, url = world.url) {
  const connection = await openRaw(url);
  connection.write(text);
  const answer = await connection.answer();
  connection.close();
  return answer;
}

function isWhole(text: string) {
  const end = text.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, end + 2))?.[1];
  if (/^HTTP\/1\.1 (204|304) /.test(text)) return end > 0;
  return end > 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

function parse(text: string) {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
  return { status: Number(first.split(" ")[1] ?? 0), headers, body: text.slice(end + 4) };
}
