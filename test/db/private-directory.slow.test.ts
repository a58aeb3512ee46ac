import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeDirectory } from "#db/private-directory";
import { endServers, newDirectory, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);
const root = mkdtempSync(join(tmpdir(), "certitude-private-"));
afterAll(() => {
  endServers();
  rmSync(root, { recursive: true, force: true });
});
const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);
const asRoot = test.if(process.geteuid?.() === 0);

/** The paths below a directory that others than the owner may use, or that have another mode than is due. */
function openPaths(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => modeOf(path) !== (statSync(path).isDirectory() ? "700" : "600"));
}

describe("closeDirectory", () => {
  test("closes files and directories all the way down, whatever was there before, and says so", () => {
    const path = join(root, "open");
    mkdirSync(join(path, "objects/deep"), { recursive: true });
    for (const file of ["lock", "objects/b", "objects/deep/c"]) writeFileSync(join(path, file), "x");
    for (const [file, mode] of [
      ["lock", 0o666],
      ["objects/b", 0o644],
      ["objects/deep/c", 0o400],
      ["objects/deep", 0o777],
      ["objects", 0o750],
      [".", 0o755],
    ] as const)
      chmodSync(join(path, file), mode);
    const outside = join(root, "outside");
    writeFileSync(outside, "x");
    chmodSync(outside, 0o644);
    symlinkSync(outside, join(path, "objects/link"));
    const lines: unknown[] = [];
    closeDirectory(path, { warn: (...line: unknown[]) => void lines.push(line) });
    expect(lines).toEqual([[{ path, mode: "755" }, "DATA_DIR was open to other users, permissions tightened"]]);
    expect([modeOf(path), ...openPaths(path).filter((each) => !each.endsWith("link")), modeOf(outside)]).toEqual(["700", "644"]);
    closeDirectory(path, { warn: (...line: unknown[]) => void lines.push(line) });
    expect(lines).toHaveLength(1);
  });

  test("leaves alone what certitude did not make, so that a program beside its files starts again", () => {
    const path = join(root, "beside");
    mkdirSync(join(path, "objects"), { recursive: true, mode: 0o755 });
    mkdirSync(join(path, "bin"), { mode: 0o755 });
    for (const file of ["certitude", "bin/tool", "objects/b"]) writeFileSync(join(path, file), "x", { mode: 0o755 });
    closeDirectory(path);
    expect([".", "objects", "objects/b", "certitude", "bin", "bin/tool"].map((file) => modeOf(join(path, file)))).toEqual([
      "700",
      "700",
      "600",
      "755",
      "755",
      "755",
    ]);
  });

  test("refuses an open directory that is used for something else, and takes one with hidden files alone", () => {
    const path = join(root, "shared");
    mkdirSync(join(path, "lost+found"), { recursive: true, mode: 0o755 });
    writeFileSync(join(path, ".gitkeep"), "");
    closeDirectory(path);
    expect(modeOf(path)).toBe("700");
    writeFileSync(join(path, "tool"), "x", { mode: 0o755 });
    closeDirectory(path);
    chmodSync(path, 0o755);
    expect(() => closeDirectory(path)).toThrow(
      `DATA_DIR ${path} is open to other users and holds something else ("tool"). It would be closed to them: make a directory below it and name that.`,
    );
    expect([".", "tool"].map((file) => modeOf(join(path, file)))).toEqual(["755", "755"]);
  });

  test("makes nothing where there is none", () => {
    closeDirectory(join(root, "none"));
    expect(readdirSync(root)).not.toContain("none");
  });

  asRoot("refuses a directory and a file of another user, in a sentence", () => {
    const path = join(root, "foreign");
    mkdirSync(join(path, "objects"), { recursive: true });
    chownSync(path, 12_345, 12_345);
    expect(() => closeDirectory(path)).toThrow(
      `DATA_DIR ${path} belongs to another user (12345), who could read every secret in it. Give it to this user (0) with chown, or make a directory below it and name that.`,
    );
    chownSync(path, 0, 0);
    chownSync(join(path, "objects"), 12_345, 12_345);
    expect(() => closeDirectory(path)).toThrow(`DATA_DIR: ${path}/objects cannot be closed to other users: it belongs to another user.`);
  });
});

describe("certitude serve on the embedded default", () => {
  test("closes an open DATA_DIR, and keeps every file and directory closed under any umask", async () => {
    const { directory, env, remove } = newDirectory();
    const dataDir = env.DATA_DIR ?? "";
    mkdirSync(join(dataDir, "objects"), { recursive: true, mode: 0o755 });
    writeFileSync(join(dataDir, "objects/one"), "x");
    chmodSync(join(dataDir, "objects/one"), 0o644);
    chmodSync(dataDir, 0o755);
    const before = process.umask(0);
    const server = serve(env, "--demo");
    process.umask(before);
    await server.says("Certitude is ready");
    expect(await server.says("DATA_DIR was open to other users")).toContain('"mode":"755"');
    expect([modeOf(dataDir), ...openPaths(dataDir)]).toEqual(["700"]);
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
    const again = serve(env);
    await again.url();
    expect([again.lines.some((line) => line.includes("was open")), ...openPaths(dataDir)]).toEqual([false]);
    await again.exit("SIGTERM");
    expect(openPaths(directory).filter((path) => path !== dataDir)).toEqual([]);
    await remove();
  });

  test("2 for a DATA_DIR that is used for something else, before anything is written there", async () => {
    const { env, remove } = newDirectory();
    const dataDir = env.DATA_DIR ?? "";
    mkdirSync(join(dataDir, "bin"), { recursive: true, mode: 0o755 });
    chmodSync(dataDir, 0o755);
    expect(await run(["serve"], env)).toMatchObject({ code: 2, out: "", err: expect.stringContaining('holds something else ("bin")') });
    expect([readdirSync(dataDir), modeOf(dataDir)]).toEqual([["bin"], "755"]);
    await remove();
  });

  asRoot("2 for a DATA_DIR of another user, before anything is written there", async () => {
    const { env, remove } = newDirectory();
    const dataDir = env.DATA_DIR ?? "";
    mkdirSync(dataDir);
    chownSync(dataDir, 12_345, 12_345);
    expect(await run(["serve"], env)).toMatchObject({ code: 2, out: "", err: expect.stringContaining("belongs to another user (12345)") });
    expect(readdirSync(dataDir)).toEqual([]);
    await remove();
  });
});
