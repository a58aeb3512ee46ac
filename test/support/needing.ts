import * as bun from "bun:test";

const nothing = () => {};

/**
 * The parts of bun:test for cases that start these programs. Where one is not installed the cases are left out, with a word; in CI, which
 * installs all, they run and fail.
 */
export function needing(...programs: string[]): Pick<typeof bun, "afterAll" | "afterEach" | "beforeAll" | "describe" | "test"> {
  const missing = programs.filter((each) => Bun.which(each) === null);
  if (missing.length === 0 || Bun.env.CI) return bun;
  process.stdout.write(`not installed: ${missing.join(" ")}\n`); // test/run.ts counts them
  const { describe, test } = bun;
  return { afterAll: nothing, afterEach: nothing, beforeAll: nothing, describe: describe.skip as typeof describe, test: test.skip as typeof test };
}
