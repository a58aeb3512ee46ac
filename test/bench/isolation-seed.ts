import { connectDatabase } from "#db/connect";
import { seed } from "./seed";

const BATCH = 2_000;
const WORDS = 20_000;
const PASSAGE = 150;

/** Words as a text has them: the n-th is there 1/n as often as the first. The first are those that are searched for. */
const COMMON = ["certificate", "key", "trust", "policy", "rotation", "anchor", "audit", "control", "evidence", "model"];
const word = (rank: number) => COMMON[rank] ?? `term${rank.toString(36)}`;

/** A generator of numbers that is the same at each run. */
function createRandom() {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Organizations with certificates; the first has a knowledge base of so many passages too. */
export async function seedKnowledge(url: string, passages: number) {
  const [searched, other, ...more] = await seed(url, [10_000, 10_000, ...Array.from({ length: 62 }, () => 200)]);
  if (!searched || !other) throw new Error("there must be two organizations");
  const sql = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 }).$client;
  const random = createRandom();
  const text = () => Array.from({ length: PASSAGE }, () => word(Math.floor(WORDS ** random()) - 1)).join(" ");
  await sql`drop index document_chunks_search_index`;
  for (const { id } of [searched, ...more]) {
    const documentId = Bun.randomUUIDv7();
    const count = id === searched.id ? passages : Math.ceil(passages / 100);
    await sql`
      insert into documents (organization_id, id, title, file_name, media_type, size, sha256, object_key, status, chunk_count)
      values (${id}, ${documentId}, 'Handbook', 'handbook.md', 'text/markdown', 1, '', '', 'ready', ${count})`;
    for (let from = 0; from < count; from += BATCH) {
      const texts = Array.from({ length: Math.min(BATCH, count - from) }, text);
      await sql`
        insert into document_chunks (organization_id, document_id, generation, chunk_index, text)
        select ${id}, ${documentId}, 0, ${from}::int + index::int, text from jsonb_array_elements_text(${JSON.stringify(texts)}::jsonb) with ordinality as given (text, index)`;
    }
  }
  await sql`create index document_chunks_search_index on document_chunks using gin (search)`;
  await sql`vacuum (analyze)`;
  await sql.end();
  return { searched, other, more };
}
