import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../support/server/program";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-service-"));
afterAll(() => rmSync(directory, { recursive: true }));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, `cag_${"a".repeat(43)}`, { mode: 0o600 });
const UNIT = "etc/systemd/system/certitude-agent.service";
const install = (...options: string[]) => run(["agent", "install", "--server", "https://certitude.example/", "--token-file", tokenFile, ...options]);

test("install --print shows the unit, its words as systemd reads them back; systemd finds no fault in it", async () => {
  const { code, out } = await install("--print", "--write", "/srv/50% of $HOME", "--", "--dry-run", "--metrics-file", "/run/$x%");
  expect(code).toBe(0);
  const [exec = ""] = /^ExecStart=.*$/m.exec(out) ?? [];
  expect(exec).toEndWith(
    `agent run --server https://certitude.example --token-file ${tokenFile} --state-dir /var/lib/certitude-agent --interval 60s --dry-run --metrics-file /run/$$x%%`,
  );
  expect(out).toContain('"/srv/50%% of $HOME"');
  for (const each of ["NoNewPrivileges=yes", "ProtectSystem=strict", "LimitCORE=0", "UMask=0077"]) expect(out).toContain(`\n${each}\n`);
  const file = join(directory, "certitude-agent.service");
  writeFileSync(file, `${out}\n`);
  const verified = await Bun.$`systemd-analyze verify --man=no ${file}`.quiet().nothrow();
  expect([verified.exitCode, verified.stderr.toString().includes("certitude-agent")]).toEqual([0, false]);
});

test.each([
  ["root", [], 3.5],
  ["an account of its own", ["--user", "certitude-agent"], 2.5],
])("as %s the service is exposed to little, as systemd counts it", async (_, options, most) => {
  writeFileSync(join(directory, "certitude-agent.service"), `${(await install("--print", ...options)).out}\n`);
  const { stdout } = await Bun.$`systemd-analyze security --offline=true --no-pager ${join(directory, "certitude-agent.service")}`.quiet().nothrow();
  const [, level] = /Overall exposure level for certitude-agent.service: ([\d.]+)/.exec(stdout.toString()) ?? [];
  console.info(`exposure level with ${options.join(" ") || "root"}: ${level}`);
  expect(Number(level)).toBeLessThan(most);
});

test("install writes the unit and a closed directory, once; what changes is written again", async () => {
  const root = join(directory, "image");
  const path = join(root, UNIT);
  expect(await install("--root", root)).toEqual({ code: 0, out: `${path} written.`, err: "" });
  const first = statSync(path);
  const state = statSync(join(root, "var/lib/certitude-agent"));
  expect([first.mode & 0o777, first.uid, state.mode & 0o777, state.uid]).toEqual([0o644, 0, 0o700, 0]);
  expect(await install("--root", root)).toEqual({ code: 0, out: `${path} is as it should be.`, err: "" });
  expect(statSync(path).ino).toBe(first.ino);
  expect((await install("--root", root, "--interval", "5m")).out).toBe(`${path} written.`);
  expect(readFileSync(path, "utf8")).toContain("--interval 300s");
});

test.each([
  [["--root", "/tmp/image", "--now"], 2, "--root is for an image, in which nothing runs"],
  [["--write", "relative"], 2, "--write must be an absolute path."],
  [["--ca-file", tokenFile], 2, "holds no certificate in PEM"],
  [["--user", "root", "--print"], 2, "--user must be the name of an account other than root."],
  [["--print", "--", "--bogus"], 2, "unknown option '--bogus'"],
  [["--print", "--", "--interval", "2d"], 2, "It must be at most a day: 24h."],
  [["--print", "--", "stats"], 2, "There is no command stats: certitude agent --help shows what there is."],
] as [string[], number, string][])("install %j ends with %d", async (options, code, words) => {
  expect(await install(...options)).toMatchObject({ code, err: expect.stringContaining(words) });
});

test("install refuses a program that others may change", async () => {
  const script = join(directory, "script.ts");
  writeFileSync(script, `import { run } from ${JSON.stringify(join(import.meta.dir, "../../src/commands/program.ts"))};\nvoid run(process.argv);\n`);
  chmodSync(script, 0o666);
  const child = Bun.spawn([process.execPath, script, "agent", "install", "--server", "https://certitude.example", "--token-file", tokenFile, "--print"], {
    stderr: "pipe",
  });
  expect(await child.stderr.text()).toContain(`Others than root may change ${script}, which would run as a service.`);
  expect(await child.exited).toBe(1);
});
