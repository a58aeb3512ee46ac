import postgres from "postgres";
import type { Statement } from "./statement";

type Task = { port: number; url: string; statements: Record<string, Statement> };

/** The least that can answer over HTTP: one handler, one prepared statement with fixed parameters, no checks at all. */
if (import.meta.main) {
  const { port, url, statements }: Task = JSON.parse(Bun.argv[2] ?? "");
  const sql = postgres(url, { max: 8, fetch_types: false });
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request) {
      const statement = statements[request.url.slice(request.url.lastIndexOf("/") + 1)];
      if (!statement) return new Response(null, { status: 404 });
      const [row] = await sql.unsafe(statement.text, statement.parameters, { prepare: true }).values();
      return new Response(row?.[0], { headers: { "content-type": "application/json" } });
    },
  });
}
