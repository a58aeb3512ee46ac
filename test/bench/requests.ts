import { join } from "node:path";
import { type Contestant, http } from "./measure";

/** Stands for one of so many seeded things: the first of them, whose id ends in it. */
export const THING = "100000000000";
/** Stands for a value that no other request has. */
export const VALUE = "999999999999";

/** The id that ends in these twelve digits. */
export const seededId = (ending: string) => `018f0000-0000-7000-8000-${ending}`;

/** A request with THING and VALUE where the next one differs; `spread` is how many things there are. */
export type Call = { method: string; path: string; headers: Record<string, string>; body?: string; spread: number };

/** wrk, which fills the marks of each request by a script. A call without marks is formatted once. */
export async function caller(directory: string, name: string, origin: string, call: Call, seconds: number): Promise<Contestant> {
  const script = join(directory, `${name}.lua`);
  const { method, path, headers, body = "", spread } = call;
  await Bun.write(`${script}.body`, body);
  const head = { ...headers, ...(body && { "content-type": "application/json" }) };
  await Bun.write(script, LUA({ method, path, headers: head, files: script, spread }));
  return http(origin, {}, seconds, script);
}

const LUA = (given: Omit<Call, "body"> & { files: string }) => `
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

local path, body, made
local headers = { ${Object.entries(given.headers)
  .map(([name, value]) => `["${name}"] = "${value}"`)
  .join(", ")} }
function init()
  math.randomseed(os.time())
  path, body = split("${given.path}"), split(read("${given.files}.body"))
end
function request()
  if made then return made end
  local marks = { thing = random(${given.spread}), value = random(${Number(VALUE) - Number(THING)}) }
  local text = join(body, marks)
  local whole = wrk.format("${given.method}", join(path, marks), headers, text ~= "" and text or nil)
  if #path == 1 and #body == 1 then made = whole end
  return whole
end
`;
