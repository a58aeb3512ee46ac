import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeBackup } from "#backup/write";
import { populatedOrganization, withQueue } from "../support/server/populated-organization";
import { newDirectory, run } from "../support/server/program";
import { environment, world } from "../support/server/world";

setDefaultTimeout(300_000);
withQueue();

const { SECRETS_KEY } = environment;
const root = mkdtempSync(join(tmpdir(), "certitude-verify-"));
const pathOf = (name: string) => join(root, name);
const file = pathOf("whole");
const atHand = { PATH: Bun.env.PATH ?? "", DATA_DIR: pathOf("data"), SECRETS_KEY };
beforeAll(async () => {
  await populatedOrganization();
  await writeBackup(file, world.sql, world.deps.stamps, world.deps.store.get, () => {});
});
afterAll(() => rmSync(root, { recursive: true }));

describe("certitude restore --verify", () => {
  const verify = (path: string, env: Record<string, string> = atHand) => run(["restore", path, "--verify"], env);
  const changed = async (change: (bytes: Buffer) => Buffer) => {
    const path = pathOf(crypto.randomUUID());
    writeFileSync(path, change(Buffer.from(await Bun.file(file).bytes())));
    return path;
  };

  test("0 and a summary; it makes and writes nothing", async () => {
    const { env, directory, remove } = newDirectory();
    expect(await verify(file, { ...env, SECRETS_KEY })).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/ is whole: of \d{4}-.+ by certitude .+ SECRETS_KEY opens the secrets of [0-9a-f]{16}\.$/),
    });
    expect(existsSync(env.DATA_DIR ?? "") || readdirSync(directory).length > 0).toBe(false);
    await remove();
  });

  test("1 with another key, 2 without any", async () => {
    const { env, remove } = newDirectory();
    expect(await verify(file, { ...env, SECRETS_KEY: Buffer.alloc(32, 99).toString("base64") })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/: SECRETS_KEY does not open its secrets: the key [0-9a-f]{16} sealed them, and SECRETS_KEY lists [0-9a-f]{16}\.$/),
    });
    expect(await run(["restore", file], env)).toMatchObject({ code: 2, err: expect.stringContaining("SECRETS_KEY is needed, the one of the backup") });
    expect(existsSync(env.DATA_DIR ?? "")).toBe(false);
    await remove();
  });

  test.each<[string, (bytes: Buffer) => Buffer, string]>([
    ["is empty", () => Buffer.alloc(0), "It is truncated."],
    ["is another kind of file", () => Buffer.from("PK\x03\x04 and some more bytes"), "It is not a backup of certitude."],
    ["lacks its last byte", (bytes) => bytes.subarray(0, -1), "It is truncated."],
    ["lacks its second half", (bytes) => bytes.subarray(0, bytes.length / 2), "It is truncated."],
    ["has something after its end", (bytes) => Buffer.concat([bytes, Buffer.from("x")]), "It is damaged: something follows its end."],
    [
      "has another checksum",
      (bytes) => Buffer.concat([bytes.subarray(0, -43), Buffer.from([(bytes.at(-43) ?? 0) ^ 1]), bytes.subarray(-42)]),
      "It is damaged: its checksum is another.",
    ],
    [
      "has another format",
      (bytes) => Buffer.from(bytes.toString("latin1").replace('{"version":2', '{"version":3'), "latin1"),
      "Its format is version 3, and this certitude reads the versions 1 and 2 alone.",
    ],
  ])("1 for a file that %s", async (_, change, message) => {
    const path = await changed(change);
    for (const options of [["--verify"], []])
      expect(await run(["restore", path, ...options], atHand)).toEqual({ code: 1, out: "", err: `${path}: ${message}` });
  });

  test("1 for a file of which any one bit is another", async () => {
    const size = statSync(file).size;
    for (let round = 0; round < 8; round++) {
      const path = await changed((bytes) => {
        const at = Math.floor(Math.random() * size);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(Math.random() * 8));
        return bytes;
      });
      expect(await verify(path)).toMatchObject({ code: 1, out: "" });
    }
  });

  test("1 for no file", async () => {
    expect(await verify(pathOf("none"))).toMatchObject({ code: 1, err: expect.stringContaining("ENOENT") });
  });
});
