import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { fingerprintOf } from "#agent/host/pem";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";
import presets from "#modules/fleet/trust-stores/rules/presets.json";
import { quoteWords } from "#text/shell-words";
import { certificate } from "../support/pki/certificates";
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
const revoke = (...args: string[]) => policy("revoke", "--policy", file, ...args);
const init = (...args: string[]) => policy("init", "--policy", file, ...args);
const inFile = () => JSON.parse(readFileSync(file, "utf8"));

describe("certitude agent policy", () => {
  test.each(["", "show", "check", "allow", "revoke", "init", "schema"])("%s --help explains itself", async (command) => {
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

  test("allow names an authority by its fingerprint or file; the first one ends trust in all others, and that is said", async () => {
    const root = certificate({ isCa: true });
    const pem = join(directory, "root.pem");
    writeFileSync(pem, root.pem);
    const fingerprint = fingerprintOf(root.pem);
    const printed = fingerprint.toUpperCase().replace(/..(?!$)/g, "$&:");
    expect(await allow("--anchor", `sha256:${printed}`)).toEqual({
      code: 0,
      err: "",
      out: [file, `permitted: anchors sha256:${fingerprint}`, "From now on no other authority may come into a store; those that are there stay."].join("\n"),
    });
    expect((await allow("--anchor", `signed-by:${pem}  stores:java_cacerts`)).out).toBe(
      `${file}\npermitted: anchors signed-by:${fingerprint} stores:java_cacerts`,
    );
    expect((await allow("--anchor", `sha256:${pem}`)).out).toBe(`${file}\npermitted already: anchors sha256:${fingerprint}`);
    expect(inFile()).toEqual({ anchors: [`sha256:${fingerprint}`, `signed-by:${fingerprint} stores:java_cacerts`] });
    expect((await policy("check", file)).code).toBe(0);
    expect((await policy("show", "--policy", file)).out).toMatch(
      new RegExp(`^anchors +sha256:${fingerprint}\n +signed-by:${fingerprint} stores:java_cacerts$`, "m"),
    );
    for (const wrong of ["corp", "sha256:/missing.pem", `sha256:${file}`])
      expect(await allow("--anchor", wrong)).toMatchObject({ code: 2, err: expect.stringContaining(`argument '${wrong}' is invalid`) });
  });

  test("revoke takes back what was permitted, says what it did not find, and leaves a file that it does not change as it is", async () => {
    expect(await revoke("--private-keys")).toMatchObject({ code: 0, out: expect.stringContaining("not in the file: privateKeys") });
    expect(existsSync(file)).toBe(false);
    await allow("--private-keys", "--reload", "systemctl restart app", "--file", "/a", "--file", "/b");
    const { out } = await revoke("--reload", "systemctl restart app", "--file", "/a", "--store", "java_cacerts");
    expect(out).toBe([file, "revoked: reloads systemctl restart app", "revoked: files /a", "revoked: stores java_cacerts"].join("\n"));
    expect(inFile()).toEqual({ privateKeys: true, files: ["/b"], stores: INSTALLABLE.filter((each) => each !== "java_cacerts") });
    const { mtimeMs } = statSync(file);
    expect((await revoke("--reload", "systemctl reload nginx")).out).toEndWith(
      "not in the file: reloads systemctl reload nginx (policy show says what is permitted without it)",
    );
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
    expect(await revoke()).toMatchObject({ code: 2, err: expect.stringContaining("Say what to revoke") });
  });

  test("allow and revoke that run at the same time lose none of what each has reported", async () => {
    await allow("--directory", "/etc/ssl/former");
    const names = Array.from({ length: 8 }, (_, index) => `/etc/ssl/at-once-${index}`);
    const done = await Promise.all([...names.map((name) => allow("--directory", name)), revoke("--directory", "/etc/ssl/former")]);
    expect(done.map(({ code }) => code)).toEqual(Array(9).fill(0));
    expect(inFile().directories.toSorted()).toEqual(names);
  });

  test("init makes the policy of a server: no store and no authority, until each is permitted; never over another one", async () => {
    expect(await init()).toMatchObject({ code: 2, err: expect.stringContaining("--profile") });
    expect(await init("--profile", "server")).toMatchObject({ code: 0 });
    expect(inFile()).toEqual({ stores: [], anchors: [] });
    const { out } = await policy("show", "--policy", file);
    for (const field of ["stores", "anchors"]) expect(out).toMatch(new RegExp(`^${field} +none$`, "m"));
    await allow("--store", "nginx_tls", "--anchor", "any stores:nginx_tls");
    expect(inFile()).toEqual({ stores: ["nginx_tls"], anchors: ["any stores:nginx_tls"] });
    expect(await init("--profile", "server")).toMatchObject({ code: 1, err: expect.stringContaining("is there already, and was not changed") });
    expect(inFile()).toEqual({ stores: ["nginx_tls"], anchors: ["any stores:nginx_tls"] });
  });

  test("show names every program that runs without a policy", async () => {
    const { out } = await policy("show", "--policy", file);
    for (const { reloadCommand } of Object.values(presets as Record<string, { reloadCommand?: string[] }>))
      if (reloadCommand?.[1] !== "reload") expect(out).toContain(quoteWords(reloadCommand ?? []));
    for (const each of ["systemctl restart slapd", "systemctl restart unbound", "systemctl restart vsftpd", "redis-cli", "mariadb", "psql", "rabbitmqctl"])
      expect(out).toContain(each);
    expect(out).toMatch(/systemctl reload of .*nginx.*, postgresql@…$/m);
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
