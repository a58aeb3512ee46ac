import { describe, expect, test } from "bun:test";
import { argvOf } from "#agent/host/arguments";
import { type AwaitRebuild, type Rebuild, takeTurns } from "#agent/transaction/turns";

const TOOL: Rebuild = { argv: argvOf("rebuild"), rerun: argvOf("rebuild", "--fresh") };
const FRESH: Rebuild = { argv: argvOf("rebuild", "--fresh"), rerun: argvOf("rebuild", "--fresh") };
const OTHER: Rebuild = { argv: argvOf("other"), rerun: argvOf("other") };
const lineOf = (input: string): Rebuild => ({ argv: argvOf("hook"), rerun: argvOf("hook"), input });

/** Tasks that note when they begin, go on and end, between the programs that run; `failing` is the one that fails. */
async function conduct(tasks: { [name: string]: Rebuild[] }, failing?: string) {
  const seen: string[] = [];
  const run: AwaitRebuild = async ({ argv, input = "" }) => {
    seen.push(["run", ...argv, input.replaceAll("\n", ";")].filter(Boolean).join(" "));
    if (argv[0] === failing) throw new Error(`${failing} failed`);
  };
  const results = await takeTurns(
    (awaitRebuild) =>
      Object.entries(tasks).map(([name, rebuilds]) => async () => {
        seen.push(name);
        try {
          for (const each of rebuilds) {
            await awaitRebuild(each);
            seen.push(`${name} goes on`);
          }
          await Bun.sleep(1);
          seen.push(`${name} ends`);
          return "done";
        } catch (error) {
          return (error as Error).message;
        }
      }),
    run,
  );
  return { seen, results };
}

describe("tasks that take turns", () => {
  test("are done one after the other where none waits; nothing runs", async () => {
    const { seen, results } = await conduct({ a: [], b: [] });
    expect(seen).toEqual(["a", "a ends", "b", "b ends"]);
    expect(results).toEqual(["done", "done"]);
    expect((await conduct({})).seen).toEqual([]);
  });

  test("wait for one run of the program, once all others have ended or wait, and go on one after the other", async () => {
    const { seen } = await conduct({ a: [TOOL], b: [], c: [TOOL] });
    expect(seen).toEqual(["a", "b", "b ends", "c", "run rebuild", "a goes on", "a ends", "c goes on", "c ends"]);
  });

  test("share the run that makes all afresh, where one of them needs it", async () => {
    expect((await conduct({ a: [TOOL], b: [FRESH] })).seen.filter((each) => each.startsWith("run"))).toEqual(["run rebuild --fresh"]);
  });

  test("wait again, each for what it needs; a program reads the lines of all", async () => {
    const { seen } = await conduct({ a: [FRESH, lineOf("-a\n")], b: [OTHER], c: [FRESH, lineOf("-c\n")] });
    expect(seen.filter((each) => each.startsWith("run"))).toEqual(["run rebuild --fresh", "run other", "run hook -a;-c;"]);
  });

  test("fail all together where the program does; those that wait for another do not", async () => {
    const { results } = await conduct({ a: [TOOL], b: [OTHER], c: [TOOL], d: [] }, "rebuild");
    expect(results).toEqual(["rebuild failed", "done", "rebuild failed", "done"]);
  });

  test("go no further once one of them has thrown", async () => {
    const seen: string[] = [];
    const broken = takeTurns(
      (awaitRebuild) => [
        async () => {
          await awaitRebuild(TOOL);
          seen.push("goes on");
        },
        async () => {
          throw new Error("the disk is full");
        },
        async () => void seen.push("begins"),
      ],
      async () => void seen.push("runs"),
    );
    await expect(broken).rejects.toThrow("the disk is full");
    expect(seen).toEqual([]);
  });
});
