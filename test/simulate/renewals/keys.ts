import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "#crypto/sha256";
import { formsOf } from "../../support/pki/key-forms";
import { runToEnd } from "./certitude";
import type { Keystore } from "./servers";

const EVERY_MS = 1_000;
const KEY = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/g;
/** Letters of a form by which a place is found that may hold it: few of a text begin like this. */
const PREFIX = 3;

type Watched = { keyPlaces: string[]; keystore: Keystore | undefined };
type Form = { of: string; bytes: Buffer };

/** Collects every private key that ever lies where hosts keep theirs, by the hash of its public half. */
export function watchKeys(hosts: Watched[]) {
  const keys = new Map<string, string>();
  const known = new Map<string, string>();
  let isStopped = false;

  async function readNew(path: string, read: () => string | Promise<string>) {
    const stat = statSync(path, { throwIfNoEntry: false });
    const version = `${stat?.ino} ${stat?.mtimeMs} ${stat?.size}`;
    if (!stat?.isFile() || known.get(path) === version) return;
    for (const [pem] of (await read()).matchAll(KEY)) keys.set(hashOf(createPublicKey(createPrivateKey(pem)).export({ type: "spki", format: "der" })), pem);
    known.set(path, version);
  }

  async function lookOnce() {
    for (const { keyPlaces, keystore } of hosts) {
      for (const place of keyPlaces)
        for (const name of namesIn(place)) await unlessGone(readNew(join(place, name), () => readFileSync(join(place, name), "utf8")));
      if (keystore) await unlessGone(readNew(keystore.path, () => readKeystore(keystore)));
    }
  }

  async function watch() {
    while (!isStopped) {
      await lookOnce();
      await Bun.sleep(EVERY_MS);
    }
    await lookOnce();
  }
  const watching = watch();
  async function stop() {
    isStopped = true;
    await watching;
    return keys;
  }
  return { keys, stop };
}

const namesIn = (place: string) => (statSync(place, { throwIfNoEntry: false }) ? readdirSync(place) : []).filter((name) => /\.(key|pem|pending)$/.test(name));
const readKeystore = ({ path, passwordFile }: Keystore) =>
  runToEnd(["openssl", "pkcs12", "-in", path, "-nodes", "-nocerts", "-passin", `file:${passwordFile}`], { PATH: Bun.env.PATH ?? "" });

/** A file may go, or be replaced, while it is read. */
const unlessGone = (reading: Promise<void>) =>
  reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });

const hashOf = (spki: Uint8Array) => sha256(spki);
export const keyHashOf = (certificatePem: string) => hashOf(new X509Certificate(certificatePem).publicKey.export({ type: "spki", format: "der" }));

/** Returns what finds any form of any of these keys in bytes: whose key it is, and where it is. */
export function createSearch(keys: ReadonlyMap<string, string>) {
  const byPrefix = new Map<number, Form[]>();
  const isPrefix = new Uint8Array(1 << (8 * PREFIX));
  for (const [of, pem] of keys)
    for (const bytes of formsOf(pem)) {
      const prefix = bytes.readUIntBE(0, PREFIX);
      isPrefix[prefix] = 1;
      byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), { of, bytes }]);
    }
  return (haystack: Buffer) => {
    const found: { of: string; at: number }[] = [];
    let window = 0;
    for (let end = 0; end < haystack.length; end++) {
      window = ((window << 8) | (haystack[end] ?? 0)) & 0xffffff;
      if (isPrefix[window] !== 1 || end < PREFIX - 1) continue;
      const at = end - PREFIX + 1;
      for (const { of, bytes } of byPrefix.get(window) ?? []) if (haystack.subarray(at, at + bytes.length).equals(bytes)) found.push({ of, at });
    }
    return found;
  };
}
