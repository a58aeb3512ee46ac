import { createServer, request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { keyPemOf, localhostIdentity, type Pebble } from "./pebble";

/** A request to the CA with its status; `payload` is the JWS's. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what the client sent
type Recorded = { method: string; path: string; status: number; payload: any };
/** The fate of the request at which a client is stopped: the CA never gets it, or its answer is lost. */
export type Ending = "lost" | "done";

/** Stands between clients and Pebble, which builds its addresses from the Host that it is asked by; records all, and stops at a request. */
export async function startRecorder(pebble: Pick<Pebble, "url" | "caBundlePem">) {
  const { authority, identity } = localhostIdentity();
  const recorded: Recorded[] = [];
  let stop: { at: number; ending: Ending; reached: PromiseWithResolvers<void> } | undefined;
  let posts = 0;

  const server = createServer({ cert: identity.pem, key: keyPemOf(identity) }, async (incoming, outgoing) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    const body = Buffer.concat(parts);
    const { method = "", url: path = "", headers } = incoming;
    const stopping = method === "POST" && ++posts === stop?.at ? stop : undefined;
    if (stopping?.ending === "lost") return stopping.reached.resolve();
    const forwarded = requestHttps(new URL(path, pebble.url), { method, headers, ca: pebble.caBundlePem, agent: false }, async (answer) => {
      const answered: Buffer[] = [];
      for await (const part of answer) answered.push(part);
      recorded.push({ method, path, status: answer.statusCode ?? 0, payload: payloadOf(body) });
      if (stopping) return stopping.reached.resolve();
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      outgoing.end(Buffer.concat(answered));
    });
    forwarded.on("error", () => outgoing.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;

  return {
    url,
    directoryUrl: `${url}/dir`,
    caBundlePem: authority.pem,
    recorded,
    /** Stops the client at the `at`th signed request from now on. Resolves when it came. */
    stopAt(at: number, ending: Ending) {
      posts = 0;
      stop = { at, ending, reached: Promise.withResolvers() };
      return stop.reached.promise;
    },
    goOn() {
      stop = undefined;
    },
    /** Orders that the CA made for a name, and those that it was successfully asked to finalize. */
    ordersOf: (name: string) =>
      recorded.filter(({ status, payload }) => status === 201 && payload?.identifiers?.some((each: { value: string }) => each.value === name)),
    finalized: () => recorded.filter(({ status, payload }) => status === 200 && payload?.csr !== undefined),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function payloadOf(body: Buffer) {
  if (body.length === 0) return;
  const { payload = "" } = JSON.parse(body.toString());
  return payload === "" ? undefined : JSON.parse(Buffer.from(payload, "base64url").toString());
}
