import { createSecureContext, createServer, type SecureContext, type TLSSocket } from "node:tls";
import type { HostProof } from "#modules/issuance/requests/schema/host-keys";
import { foreign } from "../host/foreign";
import { makeAlpnCertificate, serverNameOf } from "./alpn-certificate";

/** A challenge that a listener answers. */
type Answer = { name: string; token: string; answer: string };
type Answers = Map<string, Answer>;
type ListenAddress = { address: string; port: number };
type Listener = { answers: Answers; stop: () => void };

/** The ports that a CA connects to (RFC 8555, 8.3; RFC 8737, 3). */
const PORTS = { "http-01": 80, "tls-alpn-01": 443 };
const ALPN = "acme-tls/1";
/** How long a stranger may take with a request, or a handshake. */
const PATIENCE_S = 10;
/** IPv6, and IPv4 too; and what there is where a host has no IPv6. */
const [EVERYWHERE, EVERYWHERE_IPV4] = ["::", "0.0.0.0"];

export const portOf = ({ type, port = PORTS[type] }: HostProof) => port;

export type Listeners = ReturnType<typeof createListeners>;

/** The listeners by which the agent itself answers CAs: one for each port, for as long as it has an answer to give. */
export function createListeners() {
  const listeners = new Map<string, Listener>();

  function drop(id: string) {
    for (const [key, { answers, stop }] of listeners) {
      answers.delete(id);
      if (answers.size > 0) continue;
      stop();
      listeners.delete(key);
    }
  }

  return {
    /** Answers a challenge from now on. Rejects in words where the port cannot be had. */
    async answer(id: string, proof: HostProof, answer: Answer) {
      const { type, address } = proof;
      const key = `${type} ${address} ${portOf(proof)}`;
      const known = listeners.get(key);
      const answers: Answers = known?.answers ?? new Map();
      const stop = known?.stop ?? (await listen(proof, answers));
      listeners.set(key, { answers, stop });
      answers.set(id, answer);
    },
    /** Answers a challenge no more. */
    drop,
    keepOnly(isAsked: (id: string) => boolean) {
      const ids = [...listeners.values()].flatMap(({ answers }) => [...answers.keys()]);
      for (const id of ids) if (!isAsked(id)) drop(id);
    },
    close() {
      for (const { stop } of listeners.values()) stop();
      listeners.clear();
    },
  };
}

async function listen(proof: HostProof, answers: Answers) {
  const start = proof.type === "http-01" ? serveHttp : serveTls;
  const port = portOf(proof);
  try {
    if (proof.address !== undefined) return await start({ address: proof.address, port }, answers);
    return await start({ address: EVERYWHERE, port }, answers).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") throw error;
      return start({ address: EVERYWHERE_IPV4, port }, answers);
    });
  } catch (error) {
    throw inWords(error as NodeJS.ErrnoException, proof);
  }
}

/** Answers the tokens that it has, and 404 to all else. */
async function serveHttp({ address, port }: ListenAddress, answers: Answers) {
  const server = Bun.serve({
    hostname: address,
    port,
    development: false,
    idleTimeout: PATIENCE_S,
    maxRequestBodySize: 1,
    routes: {
      "/.well-known/acme-challenge/:token": {
        GET({ params: { token } }) {
          const found = [...answers.values()].find((each) => each.token === token);
          return found ? new Response(found.answer, { headers: { "content-type": "application/octet-stream" } }) : notFound();
        },
      },
    },
    fetch: notFound,
  });
  return () => void server.stop(true);
}

const notFound = () => new Response(null, { status: 404 });

/** Shows the certificate of the name that is asked for, to who speaks the protocol of the challenge; closes every other connection. */
function serveTls({ address, port }: ListenAddress, answers: Answers) {
  const contexts = new Map<string, SecureContext>();
  const open = new Set<TLSSocket>();

  async function contextFor(serverName: string) {
    const found = [...answers.values()].find(({ name }) => serverNameOf(name) === serverName.toLowerCase());
    if (!found) throw new Error("no challenge is answered for this name");
    const context = contexts.get(found.answer) ?? createSecureContext(await makeAlpnCertificate(found.name, found.answer));
    contexts.set(found.answer, context);
    return context;
  }

  const server = createServer(
    {
      ALPNProtocols: [ALPN],
      handshakeTimeout: PATIENCE_S * 1_000,
      SNICallback: (serverName, done) =>
        void contextFor(serverName).then(
          (context) => done(null, context),
          (error: Error) => done(error),
        ),
    },
    (socket) => {
      open.add(socket);
      socket.on("error", () => {}); // the CA may hang up at once
      socket.on("close", () => open.delete(socket));
      socket.setTimeout(PATIENCE_S * 1_000, () => socket.destroy());
      if (socket.alpnProtocol === ALPN) socket.end();
      else socket.destroy();
    },
  );
  server.on("tlsClientError", (_, socket) => socket.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<() => void>();
  server.once("error", reject);
  server.listen(port, address, () =>
    resolve(() => {
      server.close();
      for (const socket of open) socket.destroy();
    }),
  );
  return promise;
}

const INSTEAD = {
  "http-01": "Have that program serve a webroot (proof.webroot), or let it forward /.well-known/acme-challenge/ to another port (proof.port)",
  "tls-alpn-01": "That is usual where a web server has it: prove control by http-01 with a webroot (proof.webroot), or by dns-01",
};

/** Returns why a port cannot be had, and what to do about it. */
function inWords({ code, message }: NodeJS.ErrnoException, proof: HostProof) {
  const place = `Port ${portOf(proof)} of ${proof.address ?? "this host"}`;
  if (code === "EADDRINUSE") return new Error(`${place} is taken by another program. ${INSTEAD[proof.type]}.`);
  if (code === "EACCES")
    return new Error(`${place} is not for the agent's user: ports below 1024 take root, or CAP_NET_BIND_SERVICE. Or have one above forwarded (proof.port).`);
  if (code === "EADDRNOTAVAIL") return new Error(`This host has no address ${proof.address}. Correct proof.address.`);
  return new Error(`${place} cannot be listened on (${code}): ${foreign(message)}.`);
}
