import { X509Certificate } from "node:crypto";
import { connect, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";

const EVERY_MS = 1_000;
const ANSWER_MS = 5_000;
/** So often in a row a name may not answer, for a server that reads its files again. */
const SILENCES = 10;
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export type Probed = { name: string; port: number; isPostgres: boolean };
export type Fault = { at: Date; where: string; what: string };
/** A certificate that was seen, in milliseconds of the epoch. */
export type Span = { serial: string; notBefore: number; notAfter: number; from: number; to: number };
type Shown = { raw: Buffer; untrusted: string | undefined };

export const trusting = (roots: string[]) => createSecureContext({ ca: roots });

/** Makes a TLS handshake with a name. Throws where nothing answers. */
export async function shakeHands({ name, port, isPostgres }: Probed, secureContext: SecureContext): Promise<Shown> {
  const { promise, resolve, reject } = Promise.withResolvers<Shown>();
  const plain = connect(port, "127.0.0.1").on("error", reject);
  const timer = setTimeout(() => reject(new Error("it did not answer in time")), ANSWER_MS);
  try {
    const begin = () => {
      const socket = connectTls({ socket: plain, servername: name, secureContext, rejectUnauthorized: false }, () => {
        const untrusted = socket.authorized ? undefined : String(socket.authorizationError);
        resolve({ raw: socket.getPeerCertificate().raw, untrusted });
      });
      socket.on("error", reject).on("close", () => reject(new Error("it closed the connection")));
    };
    if (isPostgres) askForTls(plain, begin);
    else plain.once("connect", begin);
    return await promise;
  } finally {
    clearTimeout(timer);
    plain.destroy();
  }
}

function askForTls(plain: Socket, begin: () => void) {
  plain.once("connect", () => plain.write(SSL_REQUEST));
  plain.once("data", begin);
}

/** Returns what is wrong with a certificate that was shown for a name at a moment. */
export function findFault({ x509, untrusted }: { x509: X509Certificate; untrusted: string | undefined }, name: string, now: Date) {
  if (Date.parse(x509.validTo) < now.getTime()) return `shows a certificate that has expired at ${x509.validTo}`;
  if (Date.parse(x509.validFrom) > now.getTime()) return `shows a certificate that is not valid before ${x509.validFrom}`;
  if (x509.checkHost(name) === undefined) return `shows a certificate of other names: ${x509.subjectAltName ?? x509.subject}`;
  if (untrusted !== undefined) return `shows a certificate that is not trusted: ${untrusted}`;
}

/** What is known of a name: it is watched from the first certificate of these roots on. */
type Watched = { site: Probed; seen: Span[]; last: { raw: Buffer; x509: X509Certificate } | undefined; silences: number };

/** Makes a handshake with each name every second. */
export function startProber(sites: Probed[], roots: string[], report: (fault: Fault) => void) {
  const spans = new Map<string, Span[]>(sites.map(({ name }) => [name, []]));
  const counts = { handshakes: 0, unanswered: 0 };
  const trust = trusting(roots);
  let worst = { left: Number.POSITIVE_INFINITY, name: "" };
  let isStopped = false;

  async function watch(site: Probed) {
    const watched: Watched = { site, seen: spans.get(site.name) ?? [], last: undefined, silences: 0 };
    await Bun.sleep(Math.random() * EVERY_MS);
    while (!isStopped) {
      const began = performance.now();
      await shakeHands(site, trust)
        .then((shown) => noteShown(watched, shown))
        .catch((error) => noteSilence(watched, error));
      await Bun.sleep(Math.max(EVERY_MS - (performance.now() - began), 0));
    }
  }

  function noteShown(watched: Watched, { raw, untrusted }: Shown) {
    const { site, seen } = watched;
    watched.silences = 0;
    if (!watched.last?.raw.equals(raw)) watched.last = { raw, x509: new X509Certificate(raw) };
    const { x509 } = watched.last;
    const now = new Date();
    const fault = findFault({ x509, untrusted }, site.name, now);
    if (fault === undefined) noteSpan(seen, x509, now, site.name);
    else if (seen.length > 0) report({ at: now, where: site.name, what: fault });
    if (seen.length > 0) counts.handshakes++;
  }

  function noteSpan(seen: Span[], { serialNumber: serial, validFrom, validTo }: X509Certificate, now: Date, name: string) {
    const [at, notBefore, notAfter] = [now.getTime(), Date.parse(validFrom), Date.parse(validTo)];
    const span = seen.findLast((each) => each.serial === serial);
    if (span) span.to = at;
    else seen.push({ serial, notBefore, notAfter, from: at, to: at });
    if (notAfter - at < worst.left) worst = { left: notAfter - at, name };
  }

  /** A server that does not prove that it has the certificate's key breaks the handshake off. */
  function noteSilence(watched: Watched, { message, code = "" }: Error & { code?: string }) {
    if (watched.seen.length === 0) return;
    counts.unanswered++;
    watched.silences++;
    const fault = (what: string) => report({ at: new Date(), where: watched.site.name, what: `${what}: ${message}` });
    if (/SSL|TLS/.test(code)) fault("breaks the handshake");
    else if (watched.silences % SILENCES === 0) fault(`has not answered ${watched.silences} times in a row`);
  }

  const watching = sites.map(watch);
  async function stop() {
    isStopped = true;
    await Promise.all(watching);
  }
  return { spans, counts, worst: () => worst, stop };
}

export type Prober = ReturnType<typeof startProber>;
