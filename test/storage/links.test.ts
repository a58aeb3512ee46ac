import { describe, expect, test } from "bun:test";
import { createKeyring } from "#crypto/keyring";
import { createLinks } from "#storage/links";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const link = { key: "object", fileName: "policy.md", mediaType: "text/markdown", expiresAt: new Date("2030-01-01T00:00:00Z") };

const sign = (...keys: Uint8Array[]) => new URLSearchParams(createLinks(createKeyring(keys)).sign(link));
const read = (query: URLSearchParams, ...keys: Uint8Array[]) => createLinks(createKeyring(keys)).read(link.key, query);

describe("signed links", () => {
  test("hold while the key that signed them is listed, whichever seals", () => {
    expect(read(sign(OLD), OLD)).toEqual(link);
    expect(read(sign(OLD), NEW, OLD)).toEqual(link);
    expect(read(sign(NEW, OLD), OLD, NEW)).toEqual(link);
    expect(read(sign(OLD), NEW)).toBeUndefined();
    expect(read(sign(NEW, OLD), OLD)).toBeUndefined();
  });

  test("are not valid under the id of another listed key", () => {
    const query = sign(OLD);
    query.set("keyId", sign(NEW).get("keyId") ?? "");
    expect(read(query, NEW, OLD)).toBeUndefined();
  });

  test("hold over a rotation in the same process", () => {
    const ring = createKeyring([OLD]);
    const links = createLinks(ring);
    const before = new URLSearchParams(links.sign(link));
    ring.addFirst(NEW);
    expect(links.read(link.key, before)).toEqual(link);
    expect(read(new URLSearchParams(links.sign(link)), NEW)).toEqual(link);
  });
});
