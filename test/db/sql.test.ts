import { describe, expect, test } from "bun:test";
import { createPool, type Sql } from "#db/sql";
import { world } from "../support/server/world";

type Sent = { text: string; values: unknown[] };

/** A client that only notes what it is given. */
function recorder() {
  const sent: Sent[] = [];
  const unsafe = (text: string, values: unknown[]) => {
    sent.push({ text, values });
    return Promise.resolve([]);
  };
  return { sent, sql: createPool({ unsafe } as never) as Sql };
}

describe("a statement", () => {
  test("has its values numbered in the order in which it is read, those of its parts too", async () => {
    const { sent, sql } = recorder();
    const part = sql`(b = ${2} or ${sql`c in (${3}, ${sql.text("d")})`})`;
    await sql`select ${1} where ${part} limit ${4}`;
    expect(sent).toEqual([{ text: "select $1 where (b = $2 or c in ($3, d)) limit $4", values: [1, 2, 3, 4] }]);
  });

  test("is the same text, joined once, whatever its values are", async () => {
    const { sent, sql } = recorder();
    const find = (id: string) => sql`select ${sql`coalesce(${id}, ${null})`}`;
    await find("one");
    await find("two");
    expect(sent.map((each) => each.values)).toEqual([
      ["one", null],
      ["two", null],
    ]);
    expect(sent[0]?.text).toBe("select coalesce($1, $2)");
    expect(sent[1]?.text).toBe("select coalesce($1, $2)");
  });

  test("is another text where a part stands in the place of a value, or after it", async () => {
    const { sent, sql } = recorder();
    const now = sql`now()`;
    const pair = (first: number | typeof now, second: number | typeof now) => sql`select ${sql`f(${first})`}, ${second}`;
    await pair(1, now);
    await pair(now, 1);
    await pair(1, 2);
    await pair(now, now);
    expect(sent.map((each) => each.text)).toEqual(["select f($1), now()", "select f(now()), $1", "select f($1), $2", "select f(now()), now()"]);
  });

  test("runs once, and only when it is awaited", async () => {
    const { sent, sql } = recorder();
    const statement = sql`select 1`;
    expect(sent).toEqual([]);
    await Promise.all([statement, statement, statement.finally()]);
    expect(sent).toHaveLength(1);
  });
});

describe("on a database", () => {
  const { sql } = world;

  test("an error shows where the code of its statement stands", async () => {
    const failed = await sql`select 1 / ${0}::int`.catch((error: Error) => error);
    expect(failed).toMatchObject({ code: "22012", stack: expect.stringContaining("sql.test.ts") });
  });

  test("an undefined value is an error", async () => {
    expect(await sql`select ${undefined}::int`.catch((error: Error) => error.message)).toContain("Undefined values are not allowed");
  });

  test("a transaction ends with what its work returns, or with nothing done", async () => {
    const mode = await sql.begin(async (tx) => (await tx`show transaction_isolation`)[0], "isolation level serializable");
    expect(mode).toEqual({ transaction_isolation: "serializable" });
    const failed = await sql
      .begin(async (tx) => {
        await tx`create table half_done (id int)`;
        await tx`select 1 / ${0}::int`;
      })
      .catch((error: Error) => error);
    expect(failed).toMatchObject({ code: "22012" });
    expect(await sql`select to_regclass('half_done') as found`).toEqual([{ found: null }] as never);
  });
});
