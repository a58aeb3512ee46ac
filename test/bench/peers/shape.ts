import { THING, VALUE } from "../requests";
import type { Operation } from "./plan";

/** All servers answer the same status with JSON of the same names and types, or they do not do the same work. */
export async function assertSameShape(calls: { name: string; origin: string; operation: Operation }[]) {
  const answers = await Promise.all(
    calls.map(async ({ name, origin, operation }, index) => {
      const { method, path, headers, body, spread } = operation.call;
      const fill = (text: string) => text.replaceAll(THING, String(Number(THING) + (index % spread))).replaceAll(VALUE, String(Number(THING) + index));
      const sent = body ? { body: fill(body), headers: { ...headers, "content-type": "application/json" } } : { headers };
      const answer = await fetch(origin + fill(path), { method, ...sent });
      return `${operation.name}: ${name} says ${answer.status} ${JSON.stringify(shapeOf(await answer.json()))}`;
    }),
  );
  const shape = (answer = "") => answer.slice(answer.indexOf(" says "));
  if (answers.some((each) => shape(each) !== shape(answers[0]))) throw new Error(answers.join("\n"));
}

/** Of an array the first element speaks for all: another release may answer more of them. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => [name, shapeOf(part)]);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
