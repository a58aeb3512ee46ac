import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres, { type Options } from "postgres";
import { createDialler } from "./dialler";
import { sessionParameters } from "./session";
import { nameOf } from "./socket";
import { createPool, type Pool } from "./sql";
import { readUrl } from "./url";

export type { Fragment, Pool, Sql } from "./sql";
/**
 * drizzle for the cold paths; `$client` is the same pool for statements written by hand, which postgres.js prepares once per
 * connection.
 */
export type Db = PostgresJsDatabase & { $client: Pool };

export type Settings = { max?: number; statementTimeout?: number; silence?: number };

/** Connections of a server. */
export const POOL_SIZE = 8;

/**
 * For a server whose requests may take `requestTimeout` ms: a statement ends before its request does, and a connection that was
 * lost soon after.
 */
export const forRequests = (requestTimeout: number): Settings => ({ statementTimeout: 0.9 * requestTimeout, silence: 1.1 * requestTimeout });

/** For work that may take minutes, such as a migration: no statement is ever cut short. */
export const MAINTENANCE: Settings = { max: 1, statementTimeout: 0, silence: 0 };

/**
 * Connects a pool to `url`, read as libpq reads it, but without the environment. A statement may take `statementTimeout` ms; a
 * connection without an answer for `silence` ms is dropped.
 */
export function connectDatabase(url: string, { max = POOL_SIZE, statementTimeout = 4_500, silence = 5_500 }: Settings = {}): Db {
  const { targets, attributes, user, password, database, applicationName, serverOptions, connectTimeout, tls } = readUrl(url);
  const dialler = createDialler(targets, { tls, attributes, max, silence, timeout: connectTimeout * 1_000 });
  const options = {
    max,
    path: targets.map(nameOf).join(), // for its error messages: the dialler connects
    ...(user && { user }),
    ...(database && { database }),
    password,
    ssl: false, // the dialler secures it, so that the watch for silence stands above the encryption
    connect_timeout: 0, // the dialler counts, for each server by itself
    backoff: (retries: number) => Math.min(0.1 * 2 ** retries, 1),
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: applicationName ?? "certitude", ...(serverOptions && { options: serverOptions }), ...sessionParameters(statementTimeout) },
    socket: (_options: unknown, statement: object | null) => dialler.dial(statement ?? {}),
  } as unknown as Options<Record<string, never>>;
  const client = postgres(options);
  const end: Pool["end"] = async (options) => {
    await client.end(options);
    await dialler.leave();
  };
  const pool = Object.assign(createPool(client), { end, isReadOnly: dialler.isReadOnly });
  return Object.assign(drizzle(client, { casing: "snake_case" }), { $client: pool });
}

/** The array literal of ids or hashes, whose characters need no quoting. */
export const arrayOf = (plain: string[]) => `{${plain.join(",")}}`;
