import { expect, test } from "bun:test";
import { createPublicKey, sign, verify } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeEcdsaKey, makeRsaKey } from "#crypto/private-keys";
import { listKeyProcesses, readProcess, stopKeyProcess } from "../support/server/children";

const forever = new AbortController().signal;

test.each([2_048, 3_072])("an RSA key of %d bits signs", async (bits) => {
  const key = await makeRsaKey(bits, forever);
  expect(key.asymmetricKeyDetails).toEqual({ modulusLength: bits, publicExponent: 65_537n });
  const data = Buffer.from("data");
  expect(verify("SHA256", data, createPublicKey(key as never), sign("SHA256", data, key))).toBe(true);
});

test("an ECDSA key is on the curve of its algorithm; there is none for another", () => {
  expect(makeEcdsaKey("ecdsa-p384").asymmetricKeyDetails).toEqual({ namedCurve: "secp384r1" });
  expect(() => makeEcdsaKey("ed25519")).toThrow("there is no elliptic curve for ed25519");
});

test("an RSA key that is given up rejects with the reason, and its process is gone by then", async () => {
  const given = new AbortController();
  const made = makeRsaKey(4_096, given.signal);
  await stopKeyProcess();
  given.abort(new Error("as planned"));
  await expect(made).rejects.toThrow("as planned");
  expect(listKeyProcesses()).toEqual([]);
  await expect(makeRsaKey(4_096, given.signal)).rejects.toThrow("as planned");
});

test("the process that makes an RSA key has no environment of the server's, and no file of its directory", async () => {
  const given = new AbortController();
  const made = makeRsaKey(4_096, given.signal);
  const pid = await stopKeyProcess();
  expect(readProcess(pid, "environ").split("\0").filter(Boolean)).toEqual(["BUN_BE_BUN=1"]);
  given.abort();
  await expect(made).rejects.toThrow();
});

test("an RSA key is made also where the executable was deleted since the start, as an upgrade does", async () => {
  const directory = mkdtempSync(join(tmpdir(), "certitude-deleted-"));
  const executable = join(directory, "bun");
  copyFileSync(process.execPath, executable);
  const child = Bun.spawn([executable, join(import.meta.dir, "../support/server/moved-executable.ts")], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  rmSync(directory, { recursive: true });
  expect({ stdout, stderr }).toEqual({ stdout: "2048\n", stderr: "" });
});
