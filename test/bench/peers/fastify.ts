import fastify from "fastify";
import { Pool } from "pg";
import { routes } from "./routes";
import { type Incoming, type Query, type Task, userOf } from "./work";

/** The same work on Node, with Fastify and pg. */
const { port, url, name, schema, catalogue }: Task = JSON.parse(process.argv[2] ?? "");
const pool = new Pool({ connectionString: url, max: 8, application_name: name, options: `-c search_path=${schema},public` });
const names = new Map<string, string>();

/** pg prepares what has a name, once per connection. */
const ask: Query = async (text, values) => {
  const statement = names.get(text) ?? `s${names.size}`;
  names.set(text, statement);
  return (await pool.query({ name: statement, text, values })).rows;
};

const app = fastify();
for (const { method, path, status, answer } of routes(catalogue))
  app.route<{ Params: Incoming["params"]; Querystring: Incoming["search"]; Body: Incoming["body"] }>({
    method,
    url: path,
    async handler({ params, query, headers, body }, reply) {
      const answered = await answer(ask, { params, search: query, userId: userOf(headers.authorization), body });
      return reply.code(status).type("application/json").send(answered);
    },
  });
await app.listen({ host: "127.0.0.1", port });
