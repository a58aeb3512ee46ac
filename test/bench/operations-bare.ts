import { open, toPerform, type Work } from "./operations-sql";

export type Bare = { port: number; url: string; routes: Record<string, Work | string> };

/**
 * The least that can do the work of each route: reads the JSON body, sends the statements, answers. No checks at all.
 * With `--loop <route> <connections> <seconds>` there is no HTTP either: it prints how often a second the work was done.
 */
if (import.meta.main) {
  const { port, url, routes }: Bare = await Bun.file(Bun.argv[2] ?? "").json();
  const [, , , mode, route = "", connections = "1", seconds = "1"] = Bun.argv;
  if (mode === "--loop") await loop(url, routes[route] as Work, Number(connections), Number(seconds));
  else serve(port, url, routes);
}

function serve(port: number, url: string, routes: Bare["routes"]) {
  const sql = open(url, { max: 8 });
  const handlers = new Map(Object.entries(routes).map(([name, work]) => [name, typeof work === "string" ? () => work : toPerform(sql, work)]));
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request) {
      const handler = handlers.get(request.url.split("/").at(-1) ?? "");
      if (!handler) return new Response(null, { status: 404 });
      if (request.method !== "GET") await request.json();
      return new Response(await handler(), { headers: { "content-type": "application/json" } });
    },
  });
}

async function loop(url: string, work: Work, connections: number, seconds: number) {
  const sql = open(url, { max: connections });
  const perform = toPerform(sql, work);
  const startedAt = performance.now();
  let done = 0;
  const caller = async () => {
    for (; performance.now() - startedAt < seconds * 1_000; done++) await perform();
  };
  await Promise.all(Array.from({ length: connections }, caller));
  console.info(done / ((performance.now() - startedAt) / 1_000));
  await sql.end();
}
