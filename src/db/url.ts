import { readFileSync } from "node:fs";
import type { NetConnectOpts } from "node:net";
import type { ConnectionOptions } from "node:tls";

/** How a connection is secured; an optional one stays plain where the server offers no TLS. */
export type Tls = { isOptional: boolean; options: ConnectionOptions };
type Files = Pick<ConnectionOptions, "ca" | "cert" | "key">;

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
const PARAMETERS = ["host", "port", "user", "password", "dbname", "connect_timeout", "application_name", "options", "target_session_attrs"];
const TLS_PARAMETERS = ["sslmode", "sslrootcert", "sslcert", "sslkey"];
/** Parameters of libpq that are accepted and change nothing here. */
const UNUSED = ["channel_binding", "gssencmode", "sslnegotiation", "client_encoding", "fallback_application_name", "tcp_user_timeout"];
const KEEPALIVES = ["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"];
const KNOWN = new Set([...PARAMETERS, ...TLS_PARAMETERS, ...UNUSED, ...KEEPALIVES]);
const DEFAULT_PORT = 5432;
const CONNECT_TIMEOUT_S = 5;
/** libpq waits no shorter. */
const SHORTEST_TIMEOUT_S = 2;

const fault = (sentence: string) => new Error(`DATABASE_URL: ${sentence}`);

/** As URL.parse, and takes a user without a host too, as libpq does: `postgres://ada@/shop?host=/run/postgresql`. */
export const parseUrl = (url: string) => URL.parse(url.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#])/, "$1localhost"));

/** A connection string as libpq reads it: its parameters count before what stands ahead of them. Throws a sentence about what cannot be meant. */
export function readUrl(url: string) {
  const { hostname, port, username, password, pathname, searchParams } = parseUrl(url) as URL;
  const given: Record<string, string | undefined> = Object.fromEntries([...searchParams].filter(([, value]) => value !== ""));
  const unknown = Object.keys(given).find((name) => !KNOWN.has(name));
  if (unknown) throw fault(`the parameter "${unknown}" is not known. Known are ${[...PARAMETERS, ...TLS_PARAMETERS].join(", ")}.`);
  if ((given.target_session_attrs ?? "any") !== "any")
    throw fault(`target_session_attrs=${given.target_session_attrs} is not supported: name the server that takes writes, or an address that follows it.`);
  const hosts = (given.host ?? (decode(hostname) || "localhost")).split(",").map((each) => each.replace(/^\[(.*)\]$/, "$1"));
  return {
    hosts,
    targets: toTargets(hosts, readPorts(given.port, port, hosts.length)),
    user: given.user ?? decode(username),
    password: given.password ?? decode(password),
    database: given.dbname ?? decode(pathname.slice(1)),
    applicationName: given.application_name,
    serverOptions: given.options,
    connectTimeout: readTimeout(given.connect_timeout),
    tls: readTls(readMode(given.sslmode), {
      ca: readFile("sslrootcert", given.sslrootcert === "system" ? undefined : given.sslrootcert),
      cert: readFile("sslcert", given.sslcert),
      key: readFile("sslkey", given.sslkey),
    }),
  };
}

/** What is wrong with a DATABASE_URL, as a sentence. */
export function databaseUrlFault(url: string) {
  try {
    readUrl(url);
  } catch (error) {
    return (error as Error).message;
  }
}

function decode(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fault("a percent sign must begin an escape such as %40.");
  }
}

/** A host that begins with a slash is a directory of sockets. */
const toTargets = (hosts: string[], ports: number[]): NetConnectOpts[] =>
  hosts.map((host, index) => {
    const port = ports[index] ?? DEFAULT_PORT;
    return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  });

/** One port for each host, or one for all of them. The one ahead of the parameters is the last host's own. */
function readPorts(listed: string | undefined, last: string, count: number): number[] {
  if (listed === undefined) return Array.from({ length: count }, (_, index) => (last && index === count - 1 ? Number(last) : DEFAULT_PORT));
  const ports = listed.split(",").map((each) => (each === "" ? DEFAULT_PORT : Number(each)));
  if (ports.some((each) => !Number.isInteger(each) || each < 1 || each > 65_535)) throw fault(`port must be a number from 1 to 65535, not "${listed}".`);
  if (ports.length !== 1 && ports.length !== count) throw fault(`port names ${ports.length} ports for ${count} ${count === 1 ? "host" : "hosts"}.`);
  return Array.from({ length: count }, (_, index) => ports[ports.length === 1 ? 0 : index] as number);
}

/** Seconds; 0 waits for ever. */
function readTimeout(value: string | undefined) {
  if (value === undefined) return CONNECT_TIMEOUT_S;
  if (!/^\d{1,6}$/.test(value)) throw fault(`connect_timeout must be a whole number of seconds, not "${value}".`);
  return Number(value) === 0 ? 0 : Math.max(Number(value), SHORTEST_TIMEOUT_S);
}

function readFile(name: string, path: string | undefined) {
  try {
    return path && readFileSync(path, "utf8");
  } catch {
    throw fault(`the file of ${name}, "${path}", cannot be read.`);
  }
}

function readMode(wished = "disable") {
  const mode = MODES.find((each) => each === wished);
  if (!mode) throw fault(`sslmode must be one of ${MODES.join(", ")}, not "${wished}".`);
  return mode;
}

function readTls(mode: (typeof MODES)[number], files: { [Name in keyof Files]: string | undefined }): Tls | undefined {
  if (mode === "disable") return;
  const given: Files = Object.fromEntries(Object.entries(files).filter(([, value]) => value));
  const isOptional = mode === "allow" || mode === "prefer";
  if (mode === "verify-full") return { isOptional, options: given };
  if (mode === "verify-ca" || (given.ca && mode === "require")) return { isOptional, options: { ...given, checkServerIdentity: () => undefined } };
  return { isOptional, options: { ...given, rejectUnauthorized: false } };
}
