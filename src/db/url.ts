import { readFileSync } from "node:fs";
import type { NetConnectOpts } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { SESSION_ATTRIBUTES } from "./session-attributes";

/** How a connection is secured; an optional one stays plain where the server offers no TLS. */
export type Tls = { isOptional: boolean; options: ConnectionOptions };
type Files = Pick<ConnectionOptions, "ca" | "cert" | "key">;

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
/** The part of the URL ahead of the path: a user with its password, then the servers. URL.parse knows one server alone. */
const AUTHORITY = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)/;
/** A server as libpq writes it: a name, an address or a directory, and a port. */
const SERVER = /^(\[[^\]\s]*\]|[^:[\]\s]*)(?::(\d*))?$/;
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

/**
 * As URL.parse, and takes a user without a host and several hosts too, as libpq does:
 * `postgres://ada@/shop?host=/run/postgresql`, `postgres://a:1,b:2/shop`.
 */
export const parseUrl = (url: string) => URL.parse(url.replace(AUTHORITY, "$1localhost"));

/**
 * A connection string as libpq reads it: its parameters count before what stands ahead of them. Throws a sentence about what
 * cannot be meant.
 */
export function readUrl(url: string) {
  const { username, password, pathname, searchParams } = parseUrl(url) as URL;
  const given: Record<string, string | undefined> = Object.fromEntries([...searchParams].filter(([, value]) => value !== ""));
  const unknown = Object.keys(given).find((name) => !KNOWN.has(name));
  if (unknown) throw fault(`the parameter "${unknown}" is not known. Known are ${[...PARAMETERS, ...TLS_PARAMETERS].join(", ")}.`);
  const ahead = readServers(AUTHORITY.exec(url)?.[2] ?? "");
  const hosts = given.host?.split(",") ?? ahead.hosts;
  return {
    targets: toTargets(hosts.map(plainHost), readPorts(given.port, ahead.ports, hosts.length)),
    attributes: readAttributes(given.target_session_attrs),
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

/** Returns the fault of a DATABASE_URL, as a sentence. */
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

/** Reads `a:1,b:2`. */
function readServers(listed: string) {
  const servers = listed.split(",").map((each) => {
    const [, host, port = ""] = SERVER.exec(each) ?? [];
    if (host === undefined) throw fault(`"${each}" is not a server, such as db.example, db.example:5432 or [2001:db8::1]:5432.`);
    return { host: decode(host), port };
  });
  return { hosts: servers.map(({ host }) => host), ports: servers.map(({ port }) => readPort(port)) };
}

function readPort(text: string) {
  if (text === "") return DEFAULT_PORT;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw fault(`port must be a number from 1 to 65535, not "${text}".`);
  return port;
}

const plainHost = (host: string) => host.replace(/^\[(.*)\]$/, "$1") || "localhost";

/** A host that begins with a slash is a directory of sockets. */
const toTargets = (hosts: string[], ports: number[]): NetConnectOpts[] =>
  hosts.map((host, index) => {
    const port = ports[index] ?? DEFAULT_PORT;
    return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  });

/** One port for each host, or one for all of them. Those ahead of the parameters are the last hosts' own. */
function readPorts(listed: string | undefined, ahead: number[], count: number): number[] {
  if (listed === undefined) return Array.from({ length: count }, (_, index) => ahead[index + ahead.length - count] ?? DEFAULT_PORT);
  const ports = listed.split(",").map(readPort);
  if (ports.length !== 1 && ports.length !== count) throw fault(`port names ${ports.length} ports for ${count} ${count === 1 ? "host" : "hosts"}.`);
  return Array.from({ length: count }, (_, index) => ports[ports.length === 1 ? 0 : index] as number);
}

function readAttributes(wished = "any") {
  const attributes = SESSION_ATTRIBUTES.find((each) => each === wished);
  if (!attributes) throw fault(`target_session_attrs must be one of ${SESSION_ATTRIBUTES.join(", ")}, not "${wished}".`);
  return attributes;
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
