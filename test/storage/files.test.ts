import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKeyring } from "#crypto/keyring";
import { createFileStore } from "#storage/files";

const root = mkdtempSync(join(tmpdir(), "certitude-objects-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const directory = join(root, "objects");
const store = createFileStore(directory, createKeyring([Buffer.alloc(32, 1)]));
const bytes = (text: string) => new TextEncoder().encode(text);

describe("the file store", () => {
  test("is empty before its directory is there", async () => {
    expect(await Array.fromAsync(store.list())).toEqual([]);
    expect(await store.get("a")).toBeUndefined();
    await store.remove("a");
  });

  test("gives back what was put, readable by the owner alone", async () => {
    await store.put("a-1", bytes("hello"));
    expect(await (await store.get("a-1"))?.text()).toBe("hello");
    expect([statSync(join(directory, "a-1")).mode & 0o777, statSync(directory).mode & 0o777]).toEqual([0o600, 0o700]);
    expect((await Array.fromAsync(store.list())).map((each) => each.key)).toEqual(["a-1"]);
    await store.remove("a-1");
    expect(await store.get("a-1")).toBeUndefined();
  });

  test.each(["../secrets.json", "/etc/passwd", "a/b", "", ".", "..", ".hidden", "A", "a\0b", "x".repeat(101)])("knows no key like %j", async (key) => {
    expect(await store.get(key)).toBeUndefined();
    await expect(store.put(key, bytes("x"))).rejects.toThrow("is not the key of an object");
    await expect(store.remove(key)).rejects.toThrow("is not the key of an object");
  });

  test("leaves nothing behind when it cannot store", async () => {
    mkdirSync(join(directory, "taken", "by-a-directory"), { recursive: true });
    await expect(store.put("taken", bytes("x"))).rejects.toThrow();
    expect(readdirSync(directory)).toEqual(["taken"]);
  });

  test("survives fifty at once", async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `many-${index}`);
    await Promise.all(keys.map((key) => store.put(key, bytes(key))));
    for (const key of keys) expect(await (await store.get(key))?.text()).toBe(key);
  });
});
