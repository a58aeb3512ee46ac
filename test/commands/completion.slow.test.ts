import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needing } from "../support/needing";
import { run } from "../support/server/program";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-completion-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileOf = (shell: string) => join(directory, `_certitude.${shell}`);

beforeAll(async () => {
  for (const shell of SHELLS) writeFileSync(fileOf(shell), `${(await run(["completion", shell])).out}\n`);
});

const output = async (argv: string[]) => (await new Response(Bun.spawn(argv, { stdin: "ignore", stderr: "inherit" }).stdout).text()).trim();

/** Each answers what the real shell offers after these words. */
const offered = {
  bash: (words: string[]) =>
    output(["bash", "-c", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _certitude; printf "%s\\n" "\${COMPREPLY[@]}"`, fileOf("bash"), ...words]),
  fish: async (words: string[]) => (await output(["fish", "-c", `source ${fileOf("fish")}; complete -C '${words.join(" ")}'`])).replaceAll(/\t.*/g, ""),
  /** The shell's own functions that would show the words print them. */
  zsh: (words: string[]) =>
    output([
      "zsh",
      "-fc",
      `file=$1; shift; autoload -U compinit; compinit -u -D; source $file
       compadd() { while [[ $1 == -* && $1 != -- ]]; do shift; done; shift; print -l -- $@ }
       _describe() { local -a all=("\${(@P)4}"); print -l -- "\${(@)all%%:*}" }
       words=("$@"); CURRENT=$#; _certitude`,
      "zsh",
      fileOf("zsh"),
      ...words,
    ]),
};
const SHELLS = ["bash", "zsh", "fish"] as const;

describe("certitude completion", () => {
  test("2 for another shell", async () => {
    expect(await run(["completion", "tcsh"])).toMatchObject({ code: 2, out: "" });
  });

  for (const shell of SHELLS)
    needing(shell).describe(`in ${shell}`, () => {
      const linesFor = async (...words: string[]) => (await offered[shell](["certitude", ...words])).split("\n").filter((line) => line !== "");

      test("offers every command that --help lists", async () => {
        const commands = (await run(["--help"])).out.match(/(?<=^ {2})[a-z][a-z-]+(?= )/gm) ?? [];
        expect(commands).toContain("completion");
        expect(await linesFor("")).toEqual(expect.arrayContaining(commands.filter((each) => each !== "help")));
      });

      test("offers what a command has below it, its options and their choices", async () => {
        expect(await linesFor("admin", "")).toEqual(expect.arrayContaining(["grant", "revoke", "create-organization"]));
        expect(await linesFor("admin", "")).not.toContain("serve");
        expect(await linesFor("serve", "--")).toEqual(expect.arrayContaining(["--demo", "--workers", "--no-jobs"]));
        expect(await linesFor("api-token", "create", "--role", "")).toEqual(["ORG_ADMIN", "ORG_MEMBER"]);
        expect((await linesFor("completion", "")).filter((each) => !each.startsWith("-"))).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
      });
    });
});
