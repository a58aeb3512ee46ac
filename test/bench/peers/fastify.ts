import fastify from "fastify";
import { Pool, type PoolClient } from "pg";
import { routes } from "./routes";
import { type Database, type Incoming, type Query, type Task, userOf } from "./work";

/** The same work on Node, with Fastify and pg. */
const { port, url, catalogue }: Task = JSON.parse(process.argv[2] ?? "");
const pool = new Pool({ connectionString: url, max: 8, application_name: "fastify" });
const names = new Map<string, string>();

/** pg prepares what has a name, once per connection. */
const queryOf =
  (client: Pool | PoolClient): Query =>
  async (text, values) => {
    const name = names.get(text) ?? `s${names.size}`;
    names.set(text, name);
    return (await client.query({ name, text, values })).rows;
  };

async function transaction(work: (query: Query) => Promise<Record<string, unknown>[]>) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const rows = await work(queryOf(client));
    await client.query("commit");
    return rows;
  } finally {
    client.release();
  }
}

const db: Database = { query: queryOf(pool), transaction };
const app = fastify();
for (const { method, path, status, answer } of routes(catalogue))
  app.route<{ Params: Incoming["params"]; Querystring: Incoming["search"]; Body: Incoming["body"] }>({
    method,
    url: path,
    async handler({ params, query, headers, body }, reply) {
      const answered = await answer(db, { params, search: query, userId: userOf(headers.authorization), body });
      return reply.code(status).type("application/json").send(answered);
    },
  });
await app.listen({ host: "127.0.0.1", port });
