import { readFileSync } from "node:fs";
import { connect as connectSocket, type NetConnectOpts, type Socket } from "node:net";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres, { type ISql, type Options, type Sql as Pool } from "postgres";

/** drizzle for the cold paths; `$client` is the same pool for statements written by hand, which postgres.js prepares once per connection. */
export type Db = PostgresJsDatabase & { $client: Pool };
/** What runs statements: the pool or a transaction of it. */
export type Sql = ISql;
export type { Pool };

type Settings = { max?: number; statementTimeout?: number; silence?: number };
type Address = { host: string[]; port: number[]; path?: string | undefined };

/**
 * A pool on `url`, its TLS parameters as libpq reads them. A statement may take `statementTimeout` ms; a connection
 * that says nothing for `silence` ms after a write is thrown away, because a frozen server enforces no time-out.
 */
export function connectDatabase(url: string, { max = 8, statementTimeout = 4_500, silence = 5_500 }: Settings = {}): Db {
  const { target, host, ssl } = readUrl(url);
  const options = {
    max,
    ssl,
    ...(host && { host }),
    connect_timeout: 5,
    backoff: (retries: number) => Math.min(0.1 * 2 ** retries, 1),
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "certitude", statement_timeout: statementTimeout, TimeZone: "UTC" },
    socket: (address: Address) => openSocket(address, silence),
  } as Options<Record<string, never>>;
  return drizzle(postgres(target, options), { casing: "snake_case" });
}

/** postgres.js reads `sslmode` alone and sends every other parameter to the server; libpq's `host` may be a directory and its certificates are files. */
function readUrl(url: string) {
  const target = new URL(url);
  const take = (name: string) => {
    const value = target.searchParams.get(name) ?? undefined;
    target.searchParams.delete(name);
    return value;
  };
  const host = take("host"); // a directory of sockets
  const mode = take("sslmode");
  const file = (path: string | undefined) => path && readFileSync(path, "utf8");
  const files = { ca: file(take("sslrootcert")), cert: file(take("sslcert")), key: file(take("sslkey")) };
  for (const unused of ["channel_binding", "gssencmode"]) take(unused);
  return { target: target.href, host, ssl: tlsOptions(mode, files) };
}

function tlsOptions(mode = "disable", files: { ca: string | undefined; cert: string | undefined; key: string | undefined }) {
  if (mode === "disable") return false;
  const given = Object.fromEntries(Object.entries(files).filter(([, value]) => value));
  if (mode === "verify-full") return given;
  if (mode === "verify-ca" || (files.ca && mode === "require")) return { ...given, checkServerIdentity: () => undefined };
  if (mode === "require" || mode === "prefer" || mode === "allow") return Object.keys(given).length > 0 ? { ...given, rejectUnauthorized: false } : mode;
  throw new Error(`DATABASE_URL: sslmode must be disable, allow, prefer, require, verify-ca or verify-full, not "${mode}".`);
}

/** The first host of the list that answers. */
async function openSocket({ host, port, path }: Address, silence: number): Promise<Socket> {
  const targets: NetConnectOpts[] = path ? [{ path }] : host.map((each, index) => ({ host: each, port: port[index] ?? 5432 }));
  const failures: unknown[] = [];
  for (const target of targets) {
    const socket = await open(target).catch((error) => void failures.push(error));
    if (socket) return watchSilence(Object.assign(socket, { host: host[0] }), silence);
  }
  throw failures[0];
}

function open(target: NetConnectOpts) {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connectSocket(target, () => resolve(socket));
  socket.setTimeout(5_000, () => socket.destroy(Object.assign(new Error("Postgres cannot be reached"), { code: "CONNECT_TIMEOUT" })));
  socket.once("error", reject);
  return promise.finally(() => socket.setTimeout(0).removeListener("error", reject));
}

function watchSilence(socket: Socket, silence: number) {
  const write = socket.write;
  socket.removeAllListeners("timeout");
  socket.write = function (this: Socket, ...args: unknown[]) {
    socket.setTimeout(silence);
    return Reflect.apply(write, this, args);
  } as Socket["write"];
  socket.on("data", () => socket.setTimeout(0));
  socket.on("timeout", () => socket.destroy(Object.assign(new Error("Postgres does not answer"), { code: "CONNECTION_CLOSED" })));
  return socket;
}

/** The array literal of ids or hashes, whose characters need no quoting. */
export const arrayOf = (plain: string[]) => `{${plain.join(",")}}`;

const AWAY = /^(CONNECT(ION)?_\w+|E(CONNREFUSED|CONNRESET|PIPE|NOENT|HOSTUNREACH|NOTFOUND|TIMEDOUT|AI_AGAIN)|08\w{3}|57P0[1-5]|57014|53300|40001|40P01)$/;

/** True when the database was away or too slow, so that the same request may succeed later. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && AWAY.test(code)) || isDatabaseAway(error.cause);
}
