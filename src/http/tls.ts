import type { Server } from "bun";
import type { Logger } from "pino";
import { readTlsPair, type TlsFiles, type TlsPair, timeFault } from "#crypto/tls-files";

/** After which a silent connection is closed. */
export const IDLE_TIMEOUT_S = 30;
const READ_EVERY_MS = 2_000;
/**
 * How long the former listener answers beside the next, to ask its clients to connect again. Then it closes what has been
 * silent for that time.
 */
const DRAIN_MS = READ_EVERY_MS;

type Fetch = (request: Request, server: Server<unknown>) => Promise<Response>;
type Bind = (fetch: Fetch, tls: Pick<TlsPair, "cert" | "key">, port?: number) => Server<undefined>;
type Hears = { log: Pick<Logger, "info" | "warn">; clock: () => Date; onServed: (pair: TlsPair) => void };

/**
 * Serves with the files' present certificate. Bun cannot change a server's certificate, so a new listener takes the port beside
 * the former, which asks clients to connect again and ends.
 */
export function serveWithTls(files: TlsFiles, fetch: Fetch, bind: Bind, { log, clock, onServed }: Hears) {
  const servers = new Set<Server<undefined>>();
  const draining = new Set<Server<unknown>>();
  const timers = new Set<Timer>();
  let served = readTlsPair(files);
  let current = start(served);
  let lastFault = "";
  let loggedFault = "";
  const reading = setInterval(readFiles, READ_EVERY_MS);

  function start(pair: TlsPair) {
    const wrong = timeFault(pair, clock());
    if (wrong) log.warn({ file: files.certFile, subject: pair.subject }, `the certificate of TLS_CERT ${wrong}: clients will refuse it`);
    const server = bind(answer, pair, servers.size > 0 ? current.port : undefined);
    servers.add(server);
    onServed(pair);
    return server;
  }

  async function answer(request: Request, server: Server<unknown>) {
    const given = await fetch(request, server);
    if (draining.has(server)) given.headers.set("connection", "close");
    return given;
  }

  /** The two files are written one after the other, so that a fault counts when it is still there at the next reading. */
  function readFiles() {
    try {
      const pair = readTlsPair(files);
      [lastFault, loggedFault] = ["", ""];
      if (pair.cert !== served.cert || pair.key !== served.key) replaceBy(pair);
    } catch (error) {
      const fault = (error as Error).message;
      if (fault === lastFault && fault !== loggedFault) {
        loggedFault = fault;
        log.warn({ reason: fault }, "the changed certificate is not served, the former one still is");
      }
      lastFault = fault;
    }
  }

  function replaceBy(pair: TlsPair) {
    const former = current;
    current = start(pair);
    served = pair;
    draining.add(former);
    const timer = setTimeout(async () => {
      timers.delete(timer);
      const ended = former.stop(); // takes no connection from here on
      log.info({ file: files.certFile, subject: pair.subject, notAfter: pair.notAfter }, "certificate changed: every new connection is shown it");
      await ended;
      servers.delete(former);
      draining.delete(former);
    }, DRAIN_MS);
    timers.add(timer);
  }

  /** As `Server.stop`, for all. */
  async function stop(isForced = false) {
    clearInterval(reading);
    for (const timer of timers) clearTimeout(timer);
    await Promise.all(Array.from(servers, (server) => server.stop(isForced)));
  }

  return { url: current.url, port: current.port, stop };
}
