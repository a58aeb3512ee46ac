import { world } from "./world";

type Statement = { text: string; parameters: string[] };

const FLEET = /\b(agents|assignments|deployment_reports)\b/;

/** Returns the statements that the server sends during `work` about the fleet, or about `about`. */
export async function statementsDuring(work: () => Promise<unknown>, about = FLEET) {
  const seen: Statement[] = [];
  const debug = (_: number, text: string, parameters: string[]) => void seen.push({ text, parameters });
  Object.assign(world.sql.options, { debug });
  await work().finally(() => Object.assign(world.sql.options, { debug: false }));
  return seen.filter(({ text }) => about.test(text));
}

/** How Postgres looks into its tables for a statement, such as "Index Scan using agents_token_hash_index on agents". */
export async function scansOf({ text, parameters }: Statement): Promise<string[]> {
  const lines = await world.sql.unsafe(`explain (costs off) ${text}`, parameters);
  return lines.flatMap((line) => /\w+( Only)? Scan .*\bon .*/.exec(String(line["QUERY PLAN"]))?.[0] ?? []);
}
