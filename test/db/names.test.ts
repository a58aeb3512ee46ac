import { expect, test } from "bun:test";
import { world } from "../support/server/world";

const keysOf = async (names: string[]) => {
  const rows = await world.sql<{ key: string }[]>`
    select name_key(name) as key from jsonb_array_elements_text(${JSON.stringify(names)}::text::jsonb) with ordinality as given (name, nth) order by nth`;
  return rows.map(({ key }) => key);
};

/** Letters of Unicode 15 to 17 with forms that Postgres 15 does not know. */
const NEWER = /[\u{a7f1}\u{105c0}-\u{105ff}\u{11380}-\u{113ff}\u{16d40}-\u{16d7f}\u{1e030}-\u{1e08f}]/u;

test.each([
  [["Straße", "STRASSE", "strasse", "STRAẞE"], "strasse"],
  [["é", "É", "e\u0301", "E\u0301"], "é"],
  [["ﬁ", "FI", "Fi"], "fi"],
  [["İ", "I\u0307"], "i\u0307"],
  [["I", "i"], "i"],
  [["ı"], "ı"],
  [["ΟΔΟΣ", "οδος", "οδοσ"], "οδοσ"],
  [["ᾼ", "ᾳ", "ΑΙ"], "αι"],
  [["Москва", "МОСКВА"], "москва"],
  [["ǅ", "Ǆ", "ǆ", "DŽ"], "dž"],
  [["１２Ａ", "12a"], "12a"],
  [["𐐀", "𐐨"], "𐐨"],
  [["Ꭰ", "ꭰ"], "ꭰ"],
  [["Our GitHub"], "our github"],
])("%j have the key %j, in any database", async (names, key) => {
  expect(await keysOf(names)).toEqual(names.map(() => key));
});

test("a letter and the same one in another case or form are one name, and a key has itself as its key", async () => {
  // Of the two planes that have cases; ı is no form of i.
  const all = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code));
  const letters = all.filter((each) => /\p{L}/u.test(each) && each !== "ı" && !NEWER.test(each));
  const same = letters.map((each) => [each, each.toLowerCase(), each.toUpperCase(), each.normalize("NFD"), each.normalize("NFKC")]);
  const keys = await keysOf(same.flat());
  const differing = letters.flatMap((each, index) => {
    const own = keys.slice(index * 5, index * 5 + 5);
    return new Set(own).size > 1 ? `${each} U+${each.codePointAt(0)?.toString(16)} ${own}` : [];
  });
  expect(differing).toEqual([]);
  expect(await keysOf(keys)).toEqual(keys);
});
