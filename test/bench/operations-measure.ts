import { join } from "node:path";
import { type Contestant, run } from "./measure";
import { THING, toPgbench, VALUE, type Work } from "./operations-sql";

/** A request with marks where the next one differs; `tokens` are sent in turn. */
export type Call = { method: string; path: string; headers: Record<string, string>; body?: string; tokens?: string[] };

/** wrk, which fills the marks of each request by a script. Calls without marks are made once. */
export async function caller(directory: string, name: string, origin: string, call: Call, spread: number, seconds: number): Promise<Contestant> {
  const script = join(directory, `${name}.lua`);
  const { method, path, headers, body = "", tokens = [] } = call;
  await Bun.write(`${script}.body`, body);
  await Bun.write(`${script}.tokens`, tokens.join("\n"));
  const head = { ...headers, ...(body && { "content-type": "application/json" }) };
  await Bun.write(script, LUA({ method, path, headers: head, files: script, spread }));
  return async (connections) => {
    const output = await run(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "60s", "-s", script, origin]);
    const requests = Number(/(\d+) requests in/.exec(output)?.[1]);
    const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0);
    if (!(requests > 0) || refused > requests / 1_000 || /Socket errors/.test(output)) throw new Error(`${name}: ${output}`);
    return Number(/Requests\/sec:\s*([\d.]+)/.exec(output)?.[1]);
  };
}

const LUA = (given: Omit<Call, "body" | "tokens"> & { files: string; spread: number }) => `
local function split(text)
  local parts, from = {}, 1
  while true do
    local thing, value = text:find("${THING}", from, true), text:find("${VALUE}", from, true)
    local at = math.min(thing or math.huge, value or math.huge)
    if at == math.huge then parts[#parts + 1] = { text = text:sub(from) } return parts end
    parts[#parts + 1] = { text = text:sub(from, at - 1) }
    parts[#parts + 1] = { mark = at == thing and "thing" or "value" }
    from = at + 12
  end
end
local function join(parts, marks)
  if #parts == 1 then return parts[1].text end
  local texts = {}
  for i = 1, #parts do texts[i] = parts[i].text or marks[parts[i].mark] end
  return table.concat(texts)
end
local function read(name) local file = io.open(name) local text = file:read("*a") file:close() return text end
local function random(count) return string.format("%.0f", ${THING} + math.floor(math.random() * count)) end

local path, body, marked, tokens, turn, made
local headers = { ${Object.entries(given.headers)
  .map(([name, value]) => `["${name}"] = "${value}"`)
  .join(", ")} }
function init()
  math.randomseed(os.time())
  path, body, tokens = split("${given.path}"), split(read("${given.files}.body")), {}
  for token in read("${given.files}.tokens"):gmatch("%S+") do tokens[#tokens + 1] = "Bearer " .. token end
  turn = math.random(1, 1000000)
  marked = {}
  for name, value in pairs(headers) do local parts = split(value) if #parts > 1 then marked[name] = parts end end
end
function request()
  if made then return made end
  local marks = { thing = random(${given.spread}), value = random(${Number(VALUE) - Number(THING)}) }
  turn = turn + 1
  if #tokens > 0 then headers.authorization = tokens[turn % #tokens + 1] end
  for name, parts in pairs(marked) do headers[name] = join(parts, marks) end
  local text = join(body, marks)
  local whole = wrk.format("${given.method}", join(path, marks), headers, text ~= "" and text or nil)
  if #path == 1 and #body == 1 and #tokens < 2 then made = whole end
  return whole
end
`;

/** pgbench with the same statements, prepared once on each connection. */
export function database(url: string, script: string, work: Work, seconds: number): Contestant {
  const { script: text, definitions } = toPgbench(work);
  return async (connections) => {
    await Bun.write(script, text);
    const output = await run(["pgbench", "-n", "-M", "prepared", "-c", `${connections}`, "-j1", "-T", `${seconds}`, "-f", script, ...definitions, url]);
    const rate = Number(/tps = ([\d.]+) \(without/.exec(output)?.[1]);
    if (!(rate > 0)) throw new Error(`pgbench did nothing: ${output}`);
    return rate;
  };
}

/** Where the parameters are too many for a script: the statements in a loop of postgres.js, without HTTP. */
export function looped(task: string, route: string, seconds: number): Contestant {
  const program = join(import.meta.dir, "operations-bare.ts");
  return async (connections) => Number(await run([process.execPath, program, task, "--loop", route, `${connections}`, `${seconds}`]));
}
