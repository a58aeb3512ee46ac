import type { Statement } from "./statement";

/** Requests a second that one contestant answers to `connections` callers at once. */
export type Contestant = (connections: number) => Promise<number>;

/** Every contestant in turn, round after round, so that a noisy moment meets all of them: each one's rates, by round. */
export async function compare<Name extends string>(
  contestants: Record<Name, Contestant>,
  connections: number,
  rounds: number,
): Promise<Record<Name, number[]>> {
  const entries = Object.entries(contestants) as [Name, Contestant][];
  const results = entries.map(([name, contestant]) => ({ name, contestant, rates: [] as number[] }));
  for (let round = 0; round < rounds; round++) for (const each of results) each.rates.push(await each.contestant(connections));
  return Object.fromEntries(results.map(({ name, rates }) => [name, rates])) as Record<Name, number[]>;
}

export function median(values: number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

/** The median of the ratios of each round: what slows the machine for a while slows both sides. */
export const ratio = (rates: number[], others: number[]) => median(rates.map((rate, round) => rate / (others[round] ?? Number.NaN)));

/** wrk is one thread of C: it takes a tenth of what the servers take. A `script` of Lua may make the requests. Only 2xx and 3xx count. */
export function http(url: string, headers: Record<string, string>, seconds: number, script?: string): Contestant {
  const options = [...Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]), ...(script ? ["-s", script] : [])];
  return async (connections) => {
    const output = await run(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "60s", ...options, url]);
    if (/Socket errors/.test(output)) throw new Error(`${url}: ${output}`);
    const all = readRate(output, /(\d+) requests in/);
    const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0);
    if (refused > 0) console.error(`${url}: ${refused} of ${all} requests were refused, and do not count`);
    return (readRate(output, /Requests\/sec:\s*([\d.]+)/) * (all - refused)) / all;
  };
}

/** The statement alone, from as many connections, prepared once on each. */
export function pgbench(database: string, { text, parameters }: Statement, script: string, seconds: number): Contestant {
  const definitions = parameters.flatMap((value, index) => ["-D", `p${index + 1}=${value}`]);
  return async (connections) => {
    await Bun.write(script, `${text.replace(/\$(\d+)/g, ":p$1")};\n`);
    const options = ["-n", "-M", "prepared", "-c", `${connections}`, "-j1", "-T", `${seconds}`, "-f", script, ...definitions];
    return readRate(await run(["pgbench", ...options, database]), /tps = ([\d.]+) \(without/);
  };
}

function readRate(output: string, pattern: RegExp) {
  const rate = Number(pattern.exec(output)?.[1]);
  if (!(rate > 0)) throw new Error(`no rate in: ${output}`);
  return rate;
}

/** What the command prints; it throws when the command fails. */
export async function run(command: string[]) {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [output, complaints] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${complaints}${output}`);
  return output;
}
