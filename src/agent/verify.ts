import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { isStartTls, type StartTls } from "#modules/fleet/trust-stores/rules/start-tls";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { toPem } from "#x509/der-writer";
import { foreign } from "./host/foreign";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import { startTls } from "./start-tls";
import type { Material, Target } from "./store";

const PAUSE = 250;
/** Before a server is asked once more to reload: most have done it by then. */
const REASK_AFTER = 2_000;

type Endpoint = { host: string; port: number; serverName: string; protocol: StartTls; patience: Host["patience"] };

/**
 * Verifies over TLS that the store's content works: the endpoint's chain leads to the anchors `found` in it, or the server
 * presents the certificate. Until then it is asked again to reload.
 */
export async function verifyEndpoint(target: Target, { fingerprint, chain }: Material, found: string[], { patience }: Host, askAgain?: () => unknown) {
  const { config, materialType } = target;
  if (!config.verifyEndpoint || materialType === "client_certificate") return;
  const { hostname, port } = new URL(config.verifyEndpoint.replace(/^tls:/i, "https:"));
  const host = hostname.replace(/^\[|\]$/g, "");
  const endpoint = { host, port: Number(port || 443), serverName: config.verifyServerName ?? host, protocol: protocolOf(target), patience };
  if (materialType === "server_certificate") return expectPresented(endpoint, fingerprint, askAgain);
  const certificates = materialType === "intermediate_ca" ? [...found, ...chain] : found;
  await handshake(endpoint, { ca: certificates, rejectUnauthorized: true }, async () => {}).catch((error: Error) => {
    if (!isDistrust(error)) throw new Unanswered(`${nameOf(endpoint)} cannot be verified: ${wordsOf(error)}.`);
    throw new Error(`${nameOf(endpoint)} is not trusted by what is in the store: ${wordsOf(error)}.`);
  });
}

/** The endpoint did not show a certificate, so that nothing is known of what is in the store. */
export class Unanswered extends Error {}

/** Returns whether a certificate was shown and refused: by OpenSSL's error codes, or by Node's for another name. */
const isDistrust = (error: Error) => "code" in error && /CERT|SELF_SIGNED|UNABLE_TO|CHAIN|PURPOSE|INVALID_CA/.test(String(error.code));

/** A fault by its code and a sentence of ours; the system's own words may hold what the endpoint said. */
const wordsOf = (error: Error & { code?: unknown }) =>
  typeof error.code === "string" && /^\w{1,60}$/.test(error.code)
    ? `${SENTENCES[error.code] ?? "the TLS connection did not come about"} (${error.code}): ${foreign(error.message)}`
    : error.message;
const SENTENCES: Record<string, string> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  ETIMEDOUT: "it did not answer in time",
  EHOSTUNREACH: "no way leads there",
  ENETUNREACH: "no way leads there",
  ENOTFOUND: "its name is not known on this host",
  EAI_AGAIN: "its name is not known on this host",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for other names",
};

/** How the server is asked for TLS: in the store's own protocol, or in the config's. */
function protocolOf({ storeType, config: { verifyStartTls = "none" } }: Target): StartTls {
  return OWN_PROTOCOLS[storeType] ?? (isStartTls(verifyStartTls) ? verifyStartTls : "none");
}
const OWN_PROTOCOLS: { [Type in TrustStoreType]?: StartTls } = { postgresql_server_tls: "postgres", mariadb_server_tls: "mysql" };
/** Ports on which these protocols begin with TLS (RFC 8314 and the register of IANA). */
const TLS_AT_ONCE = [465, 636, 990, 993, 995, 5223];

async function expectPresented(endpoint: Endpoint, fingerprint: string, askAgain?: () => unknown) {
  const end = performance.now() + endpoint.patience.reload;
  for (let asked = performance.now(); ; ) {
    const fault = await findFault(endpoint, fingerprint);
    if (!fault) return;
    if (performance.now() > end) throw new (fault.startsWith("presents") ? Error : Unanswered)(`${nameOf(endpoint)} ${fault}.`);
    await Bun.sleep(PAUSE);
    if (performance.now() < asked + REASK_AFTER) continue;
    await askAgain?.();
    asked = performance.now();
  }
}

async function findFault(endpoint: Endpoint, fingerprint: string) {
  try {
    const presented = await handshake(endpoint, { rejectUnauthorized: false }, async (socket) =>
      fingerprintOf(toPem("CERTIFICATE", socket.getPeerCertificate().raw)),
    );
    return presented === fingerprint ? undefined : `presents the certificate ${foreign(presented)}, not ${fingerprint}`;
  } catch (error) {
    return `cannot be verified: ${wordsOf(error as Error)}`;
  }
}

const nameOf = ({ host, port }: Endpoint) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

type Trust = { ca?: string[]; rejectUnauthorized: boolean };

/** Connects, and hands the finished TLS connection to `examine`. Everything ends within the deadline, whatever the other side does. */
async function handshake<Seen>(endpoint: Endpoint, trust: Trust, examine: (socket: TLSSocket) => Promise<Seen>): Promise<Seen> {
  const { promise: failure, reject } = Promise.withResolvers<never>();
  const plain = connect(endpoint.port, endpoint.host)
    .on("error", reject)
    .on("close", () => reject(new Error("it closed the connection")));
  const { connection } = endpoint.patience;
  const timer = setTimeout(() => reject(new Error(`it did not answer within ${connection / 1000} s`)), connection);
  try {
    return await Promise.race([failure, secure(plain, endpoint, trust, reject).then(examine)]);
  } finally {
    clearTimeout(timer);
    plain.destroy();
  }
}

async function secure(plain: Socket, { host, port, serverName, protocol }: Endpoint, trust: Trust, reject: (error: Error) => void) {
  await new Promise<void>((resolve) => plain.once("connect", resolve));
  if (!TLS_AT_ONCE.includes(port)) await startTls(plain, protocol, serverName);
  const { promise, resolve } = Promise.withResolvers<TLSSocket>();
  const socket = connectTls(
    {
      socket: plain,
      host,
      ...(isIP(serverName) ? {} : { servername: serverName }),
      ...trust,
      checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    },
    () => resolve(socket),
  );
  socket.on("error", (error) => reject(error.message.includes("WRONG_VERSION_NUMBER") ? new Error("it does not speak TLS") : error));
  socket.on("close", () => reject(new Error("it closed the connection during the handshake")));
  return promise;
}
