import { THING, VALUE } from "../requests";
import type { Operation } from "./plan";

/** All servers answer the same status with JSON of the same names and types, or they do not do the same work. */
export async function assertSameShape({ name, call }: Operation, servers: Record<string, string>) {
  const answers = await Promise.all(
    Object.entries(servers).map(async ([server, origin], index) => {
      const { method, path, headers, body, spread } = call;
      const fill = (text: string) => text.replaceAll(THING, String(Number(THING) + (index % spread))).replaceAll(VALUE, String(Number(THING) + index));

      const sent = body ? { body: fill(body), headers: { ...headers, "content-type": "application/json" } } : { headers };
      const answer = await fetch(origin + fill(path), { method, ...sent });
      return { server, said: `${answer.status} ${JSON.stringify(shapeOf(await answer.json()))}` };
    }),
  );
  const [first, ...others] = answers;
  for (const { server, said } of others) if (said !== first?.said) throw new Error(`${name}: ${first?.server} says ${first?.said}\n${server} says ${said}`);
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => [name, shapeOf(part)]);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
