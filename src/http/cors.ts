import { cors } from "@elysiajs/cors";
import { Elysia } from "elysia";

/** The headers that a page of another origin may read. */
const EXPOSED = ["etag", "location", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id"];
const PREFLIGHT_ONLY = ["access-control-allow-methods", "access-control-allow-headers"];

/** Answers preflights, and names the origin of a request where it is one of `origins`. */
export const allowOrigins = (origins: string[]) => (origins.length > 0 ? cors({ origin: origins, credentials: false, exposeHeaders: EXPOSED }) : new Elysia());

/** The plugin shows every origin all but its own name, and on each answer which headers the request had, those of a gateway too. */
export function dropNeedlessCors({ method, headers: asked }: Request, { headers }: Response) {
  const isNamed = headers.has("access-control-allow-origin");
  for (const name of [...headers.keys()].filter((each) => each.startsWith("access-control-")))
    if (!isNamed || (method !== "OPTIONS" && PREFLIGHT_ONLY.includes(name))) headers.delete(name);
  if (!asked.has("access-control-request-headers")) headers.delete("access-control-allow-headers");
}
