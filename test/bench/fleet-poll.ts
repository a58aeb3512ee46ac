import type postgres from "postgres";
import { hashAgentToken } from "#modules/fleet/agent-access/rules";
import { findPollingAgent } from "#modules/fleet/agent-protocol/queries/desired-state";
import { spreadLastSeen, tokenHash, tokenOf } from "./fleet-seed";
import { type Contestant, http, pgbench } from "./measure";
import { capture } from "./statement";

const PATH = "/agent/assignments";

/** The statement of a poll as the server would send it now. */
export const capturePoll = (url: string) => capture(url, (sql) => findPollingAgent(sql, { kind: "token", hash: hashAgentToken(tokenOf(1)) }, new Date()));

/** The same statement for whatever agent pgbench draws. */
export const inPgbench =
  (url: string, agents: number, script: string, seconds: number): Contestant =>
  async (callers) => {
    const { text, parameters } = await capturePoll(url);
    const ofAnyAgent = `\\set agent random(1, ${agents})\n${text.replace("decode($1, 'hex')", tokenHash(":agent"))}`;
    return pgbench(url, { text: ofAnyAgent, parameters }, script, seconds)(callers);
  };

/** What every agent knows after its first poll, which answers everything: its token and the tag. */
export async function learnTags(server: string, agents: number) {
  const numbers = Array.from({ length: agents }, (_, index) => index + 1).values();
  const known: string[] = [];
  async function learnNext() {
    for (const agent of numbers) {
      const answer = await fetch(`${server}${PATH}`, { headers: { authorization: `Bearer ${tokenOf(agent)}` } });
      const { items } = (await answer.json()) as { items: { chain: string[] }[] };
      if (items.length !== 3 || items.some(({ chain }) => chain.length !== 2)) throw new Error(`agent ${agent} has not what was seeded`);
      known.push(`${tokenOf(agent)} ${answer.headers.get("etag")}`);
    }
  }
  await Promise.all(Array.from({ length: 16 }, learnNext));
  return known.join("\n");
}

/** A nonce, by which an agent asks for a signed answer. */
export const SIGNED = { "certitude-nonce": "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01" };

/** wrk, which polls for each agent of the file in turn. */
export async function overHttp(server: string, known: string, seconds: number, headers: Record<string, string> = {}): Promise<Contestant> {
  const script = `${known}${Object.keys(headers).join("")}.lua`;
  await Bun.write(script, LUA(known, headers));
  return http(server, {}, seconds, script);
}

const LUA = (known: string, headers: Record<string, string>) => `
local polls, turn = {}, 0
function init()
  for token, tag in io.open("${known}"):read("*a"):gmatch("(%S+) (%S+)") do
    polls[#polls + 1] = wrk.format("GET", "${PATH}", { authorization = "Bearer " .. token, ["if-none-match"] = tag${Object.entries(headers)
      .map(([name, value]) => `, ["${name}"] = "${value}"`)
      .join("")} })
  end
  math.randomseed(os.time())
  turn = math.random(#polls)
end
function request()
  turn = turn % #polls + 1
  return polls[turn]
end
`;

/** Every round begins alike: with one agent in five that must be noted as seen. */
export const afterFiveMinutes =
  (sql: postgres.Sql, contestant: Contestant): Contestant =>
  async (callers) => {
    await sql.unsafe(spreadLastSeen);
    await sql`vacuum agents`;
    return contestant(callers);
  };

/** All answers but these many must have been a 304, or something else was measured. */
export async function assertUnchanged(server: string, firstPolls: number) {
  const metrics = await (await fetch(`${server}/metrics`)).text();
  const counted = metrics.split("\n").find((line) => line.includes(`_count{`) && line.includes(`route="${PATH}"`) && line.includes('status="200"'));
  if (Number(counted?.split(" ").at(-1)) !== firstPolls) throw new Error(`not every poll was a 304: ${counted}`);
}
