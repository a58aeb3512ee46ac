import { connect } from "node:net";
import { readConfig } from "#config";
import { environment, startServer, world } from "../support/server/world";

/** A server of the test's own whose environment differs, on the one database; `undefined` takes a variable away. */
export function startWith(extra: Record<string, string | undefined>, clock?: () => Date) {
  const started = startServer(readConfig({ ...environment, DATA_DIR: world.directory, ...extra }), world.database, clock);
  return { ...started, [Symbol.asyncDispose]: () => started.server.stop(true) };
}

/** Sends these very lines, which no HTTP client would, and answers the status. */
export async function sendRaw(url: string, lines: string[], { from = "127.0.0.1" } = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let answer = "";
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), localAddress: from });
  socket.on("error", reject).on("close", () => resolve(answer));
  socket.on("data", (data) => {
    answer += data;
  });
  socket.write(`${[...lines, "connection: close"].join("\r\n")}\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(await promise)?.[1]);
}

/** The text of a JWS whatever its header and claims, with an HMAC of `secret`. */
export function forge(header: object, claims: object, secret: string) {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${new Bun.CryptoHasher("sha256", secret).update(signed).digest("base64url")}`;
}

export const seconds = (ahead: number) => Math.floor(Date.now() / 1000) + ahead;
