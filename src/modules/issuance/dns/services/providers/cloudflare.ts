import type { Reply } from "#outbound/call";
import type { Limits } from "#outbound/http-client";
import { DnsFault } from "../../rules/fault";
import type { Context, Placed, Provider } from "../provider";
import { below, callApi, checkStatus } from "./api";

const LABEL = "Cloudflare";
const TTL = 60;
/** Codes of an answer that refuses a record because it stands already. */
const STANDS = [81057, 81058];
const PER_PAGE = "50";

type Answer = { result?: unknown; errors?: { code?: number }[] };
type Found = { id: string; name: string; content: string };

/** Changes a zone by Cloudflare's API. */
export function createCloudflare({ config, secrets, lookups, clock }: Context): Provider {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secrets.cloudflareApiToken}` };
  const call = (method: string, path: string, limits: Limits, { query, body }: { query?: Record<string, string>; body?: string } = {}) =>
    callApi(LABEL, { method, url: below(String(config.apiBaseUrl), path, query), headers, body }, limits);

  function read(reply: Reply): Answer {
    checkStatus(LABEL, reply, clock());
    return parse(reply);
  }

  async function findZoneId(target: string, limits: Limits): Promise<string> {
    if (config.zoneId !== undefined) return String(config.zoneId);
    const name = await lookups.findZone(target, limits.signal);
    const found = listOf(read(await call("GET", "/zones", limits, { query: { name } }))).find((each) => each.name === name);
    if (!found) throw new DnsFault(`The API token sees no zone ${name} at Cloudflare.`, { isFinal: true });
    return found.id;
  }

  async function records({ target }: Placed, limits: Limits) {
    return `/zones/${encodeURIComponent(await findZoneId(target, limits))}/dns_records`;
  }

  return {
    async add(placed, limits) {
      const body = JSON.stringify({ type: "TXT", name: placed.target, content: `"${placed.value}"`, ttl: TTL });
      const reply = await call("POST", await records(placed, limits), limits, { body });
      const stands = reply.status === 400 && parse(reply).errors?.some(({ code = 0 }) => STANDS.includes(code));
      if (!stands) checkStatus(LABEL, reply, clock());
    },
    async remove(placed, limits) {
      const path = await records(placed, limits);
      const query = { type: "TXT", name: placed.target, per_page: PER_PAGE };
      const found = listOf(read(await call("GET", path, limits, { query })));
      for (const { id } of found.filter(({ content = "" }) => content.replaceAll('"', "") === placed.value)) {
        const reply = await call("DELETE", `${path}/${encodeURIComponent(id)}`, limits);
        if (reply.status !== 404) checkStatus(LABEL, reply, clock());
      }
    },
  };
}

function parse({ body }: Reply): Answer {
  try {
    return Object(JSON.parse(body));
  } catch {
    throw new DnsFault("Cloudflare answered something that is not JSON.");
  }
}

const listOf = ({ result }: Answer) => (Array.isArray(result) ? result : []) as Found[];
