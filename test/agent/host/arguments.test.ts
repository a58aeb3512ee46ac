import { describe, expect, test } from "bun:test";
import { argvOf, hostWord, joined, serverWord } from "#agent/host/arguments";
import { runProgram } from "#agent/host/program";

const alias: string = "corp";

describe("a call of a program", () => {
  test("is made of words that stand in the code, and of words that were judged", () => {
    const more = argvOf("-noprompt", hostWord("/tmp/x"));
    expect([...argvOf("keytool", "-alias", serverWord(alias), more, joined("--user=", serverWord("ada")))]).toEqual([
      "keytool",
      "-alias",
      "corp",
      "-noprompt",
      "/tmp/x",
      "--user=ada",
    ]);
  });

  test("takes no text that was read from elsewhere: the compiler refuses it", () => {
    // @ts-expect-error: a plain string is no word
    argvOf("keytool", "-alias", alias);
    // @ts-expect-error: nor is a template that holds one
    argvOf("mariadb", `--user=${alias}`);
    // @ts-expect-error: nor are many
    argvOf("keytool", [alias]);
    // @ts-expect-error: nor is one of several
    argvOf("keytool", alias.length > 3 ? alias : "-list");
    // @ts-expect-error: a list of words is no call
    const run = () => runProgram({} as Parameters<typeof runProgram>[0], ["keytool", alias]);
    expect(run).toBeFunction();
  });
});

describe("a word of the server", () => {
  test.each(["corp", "Example Root CA 2", "CN=root, O=Example", "/etc/ssl/my store.p12", "ünïcode", "a-b", "a@b", "$(id)", "*"])("may be %j", (text) => {
    expect<string>(serverWord(text)).toBe(text);
  });

  test.each(["-J-agentlib:jdwp=transport=dt_socket,server=y", "-conf", "-", "--", "@/etc/passwd", "@"])("is no option and no file of options: %j", (text) => {
    expect(() => serverWord(text)).toThrow("it would be read as an option");
  });

  test.each(["", " ", " -J-Xlog", "corp ", "a\nb", "a\0b", "\t-x", "a\u0085b"])("is one word, all of which is seen: %j", (text) => {
    expect(() => serverWord(text)).toThrow("it is empty, or begins or ends with space, or holds a control character");
  });

  test("is shown without what would change the line, and not at any length", () => {
    expect(() => serverWord(`-\u202e\n${"x".repeat(1_000)}`)).toThrow(/^"-��x{97}" cannot/);
  });
});
