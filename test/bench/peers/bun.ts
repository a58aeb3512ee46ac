import { type BunRequest, SQL } from "bun";
import { routes } from "./routes";
import { type Query, type Task, userOf } from "./work";

/** A hand-written server on Bun.serve and Bun.sql: the least that a request costs on this runtime. */
if (import.meta.main) {
  const { port, url, name, schema, catalogue }: Task = JSON.parse(Bun.argv[2] ?? "");
  const sql = new SQL({ url, max: 8, connection: { application_name: name, search_path: `${schema},public` } });
  const query: Query = (text, values) => sql.unsafe(text, values);
  const handlers = routes(catalogue).map(({ method, path, status, answer }) => {
    const handle = async (request: BunRequest) => {
      const body = method === "GET" ? {} : ((await request.json()) as Record<string, unknown>);
      const at = request.url.indexOf("?");
      const search = at < 0 ? {} : Object.fromEntries(new URLSearchParams(request.url.slice(at)));
      const userId = userOf(request.headers.get("authorization") ?? "");
      const answered = await answer(query, { params: request.params, search, userId, body });
      return typeof answered === "string" ? new Response(answered, { headers: { "content-type": "application/json" } }) : Response.json(answered, { status });
    };
    return [path, { [method]: handle }];
  });
  Bun.serve({ hostname: "127.0.0.1", port, routes: Object.fromEntries(handlers) });
}
