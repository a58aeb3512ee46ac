import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { newDirectory, run } from "../support/server/program";

setDefaultTimeout(300_000);
const { directory, remove } = newDirectory();
afterAll(remove);

let file: string;
beforeEach(() => {
  file = join(mkdtempSync(join(directory, "place-")), "policy.json");
});
const policy = (...args: string[]) => run(["agent", "policy", ...args]);
const allow = (...args: string[]) => policy("allow", "--policy", file, ...args);
const inFile = () => JSON.parse(readFileSync(file, "utf8"));

describe("certitude agent policy", () => {
  test.each(["", "show", "check", "allow", "schema"])("%s --help explains itself", async (command) => {
    const { code, out } = await policy(...command.split(" ").filter(Boolean), "--help");
    expect(code).toBe(0);
    expect(out).toStartWith(`Usage: certitude agent policy ${command}`.trim());
  });

  test("allow makes the file, adds each thing once, and says what has changed", async () => {
    const first = await allow("--reload", "systemctl restart 'my app'", "--directory", "/etc/ssl/mine", "--private-keys");
    expect(first).toEqual({
      code: 0,
      err: "",
      out: [file, "permitted: reloads systemctl restart 'my app'", "permitted: directories /etc/ssl/mine", "permitted: privateKeys"].join("\n"),
    });
    expect(inFile()).toEqual({ reloads: [["systemctl", "restart", "my app"]], directories: ["/etc/ssl/mine"], privateKeys: true });
    expect(statSync(file).mode & 0o777).toBe(0o644);
    const { mtimeMs } = statSync(file);
    expect((await allow("--private-keys")).out).toBe(`${file}\npermitted already: privateKeys`);
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
    const rest =
      "--file /etc/environment --node-flag --import=/x.mjs --password file:/p --endpoint a.test:1 --python-venv /v --account ada --key-mode 0660".split(" ");
    expect((await allow(...rest, "--reload-pattern", "systemctl restart '*'")).code).toBe(0);
    expect(inFile()).toEqual({
      reloads: [["systemctl", "restart", "my app"]],
      directories: ["/etc/ssl/mine"],
      privateKeys: true,
      files: ["/etc/environment"],
      nodeFlags: ["--import=/x.mjs"],
      passwords: ["file:/p"],
      endpoints: ["a.test:1"],
      pythonVenvs: ["/v"],
      accounts: ["ada"],
      keyModes: ["0660"],
      reloadPatterns: [["systemctl", "restart", "*"]],
    });
  });

  test.each<[string[], string]>([
    [["--reload", "sh -c $(id)"], "It must be a program and its words, without variables"],
    [["--reload", "a; b"], "It must be a program and its words"],
    [["--reload-pattern", "sh -c '*'"], "names sh, which runs whatever an argument says"],
    [["--directory", "etc"], "It must be an absolute path."],
    [["--file", "/proc/self/mem"], "which no policy permits"],
    [["--store", "nginx"], "is no kind of store"],
    [["--endpoint", "https://a"], "must be a host in lower case and a port"],
    [["--fly"], "unknown option"],
    [[], "Say what to permit"],
  ])("allow %j is wrong usage: exit 2, and nothing is written", async (args, words) => {
    const { code, err } = await allow(...args);
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    expect(existsSync(file)).toBe(false);
  });

  test("allow leaves a faulty file, and one that proves nothing, as they are: exit 1", async () => {
    for (const [text, mode, words] of [
      ['{"storse": []}', 0o644, "Did you mean stores?"],
      ["{}", 0o666, "may be written by other users"],
    ] as const) {
      writeFileSync(file, text);
      chmodSync(file, mode);
      expect(await allow("--private-keys")).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(new RegExp(`${words.replace("?", "\\?")}[\\s\\S]*Nothing was changed.`)),
      });
      expect(readFileSync(file, "utf8")).toBe(text);
      rmSync(file);
    }
  });

  test("check is 0 for a file in order, and 1 with a sentence for each fault", async () => {
    expect(await policy("check", file)).toEqual({ code: 1, out: "", err: `${file} does not exist.` });
    writeFileSync(file, "{}");
    expect(await policy("check", file)).toEqual({ code: 0, out: `${file} is in order.`, err: "" });
    writeFileSync(file, '{"directorys": [], "files": ["a"]}');
    const err = `${file}: directorys is not a field of a policy. Did you mean directories?\n${file}: files[0], a, must be an absolute path.`;
    expect(await policy("check", file)).toEqual({ code: 1, out: "", err });
  });

  test("show is a table for a person, and JSON for a program", async () => {
    const without = await policy("show", "--policy", file);
    expect(without.code).toBe(0);
    expect(without.out).toStartWith(`${file} does not exist: this holds without a file.`);
    expect(without.out).toMatch(/^privateKeys +no$/m);
    await allow("--private-keys", "--reload", "systemctl restart 'my app'");
    const { out } = await policy("show", "--policy", file);
    expect(out).toMatch(/^privateKeys +yes$/m);
    expect(out).toMatch(/^reloads +systemctl restart 'my app'\n +always: systemctl reload/m);
    expect(JSON.parse((await policy("show", "--policy", file, "--json")).out)).toEqual({ file, exists: true, policy: inFile() });
  });

  test("schema prints one that takes what allow writes", async () => {
    const { code, out } = await policy("schema");
    expect(code).toBe(0);
    await allow("--private-keys", "--reload", "a b");
    const isValid = new Ajv().compile(JSON.parse(out));
    expect([isValid(inFile()), isValid({ storse: [] })]).toEqual([true, false]);
  });
});
