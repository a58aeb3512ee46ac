import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres, { type ISql, type Options, type Sql as Pool } from "postgres";
import { type Address, openSocket } from "./socket";
import { readUrl } from "./url";

/** drizzle for the cold paths; `$client` is the same pool for statements written by hand, which postgres.js prepares once per connection. */
export type Db = PostgresJsDatabase & { $client: Pool };
/** What runs statements: the pool or a transaction of it. */
export type Sql = ISql;
export type { Pool };

export type Settings = { max?: number; statementTimeout?: number; silence?: number };

/** For work that may take minutes, such as a migration: no statement is ever cut short. */
export const PATIENT: Settings = { max: 1, statementTimeout: 0, silence: 0 };

/**
 * A pool on `url`, its TLS parameters as libpq reads them. A statement may take `statementTimeout` ms; a connection
 * that says nothing for `silence` ms after a write is thrown away.
 */
export function connectDatabase(url: string, { max = 8, statementTimeout = 4_500, silence = 5_500 }: Settings = {}): Db {
  const { target, host, tls } = readUrl(url);
  const options = {
    max,
    ssl: false, // openSocket secures it, so that the watch for silence stands above the encryption
    ...(host && { host }),
    connect_timeout: 5,
    backoff: (retries: number) => Math.min(0.1 * 2 ** retries, 1),
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "certitude", statement_timeout: statementTimeout, TimeZone: "UTC" },
    socket: (address: Address) => openSocket(address, tls, silence),
  } as Options<Record<string, never>>;
  return drizzle(postgres(target, options), { casing: "snake_case" });
}

/** The array literal of ids or hashes, whose characters need no quoting. */
export const arrayOf = (plain: string[]) => `{${plain.join(",")}}`;

const AWAY =
  /^(CONNECT(ION)?_\w+|E(CONNREFUSED|CONNRESET|PIPE|NOENT|HOSTUNREACH|NETUNREACH|NOTFOUND|TIMEDOUT|AI_AGAIN)|08\w{3}|25006|57P0[1-5]|57014|53300|40001|40P01)$/;

/** True when the database was away, in the middle of a failover or too slow, so that the same request may succeed later. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && AWAY.test(code)) || isDatabaseAway(error.cause);
}
