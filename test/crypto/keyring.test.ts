import { describe, expect, test } from "bun:test";
import { createKeyring, HEADER_LENGTH, keyIdOf } from "#crypto/keyring";
import { sealUnmarked } from "../support/server/sealed";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);

describe("the ring of keys", () => {
  test("opens what it sealed, in its context alone", () => {
    const ring = createKeyring([OLD]);
    const sealed = ring.seal("a secret: ü", "row 1");
    expect(ring.unseal(sealed, "row 1")).toBe("a secret: ü");
    expect(() => ring.unseal(sealed, "row 2")).toThrow();
    expect(sealed.includes("secret")).toBe(false);
  });

  test("seals with the first key and opens with every one", () => {
    const before = createKeyring([OLD]).seal("secret", "row");
    const ring = createKeyring([NEW, OLD]);
    expect(ring.open(before, "row")).toEqual({ secret: "secret", keyId: createKeyring([OLD]).ids()[0] as string });
    expect(() => createKeyring([OLD]).unseal(ring.seal("secret", "row"), "row")).toThrow("No key of SECRETS_KEY opens this value.");
    expect(createKeyring([NEW]).unseal(ring.seal("secret", "row"), "row")).toBe("secret");
  });

  test("names the key in the value, by an id that shows nothing of it", () => {
    const ring = createKeyring([NEW, OLD]);
    const sealed = ring.seal("secret", "row");
    expect([keyIdOf(sealed), sealed.subarray(0, HEADER_LENGTH)]).toEqual([ring.ids()[0], ring.header()]);
    expect(new Set(ring.ids()).size).toBe(2);
    for (const id of ring.ids()) expect(id).toMatch(/^[0-9a-f]{16}$/);
  });

  test("opens values without a key's id, with any of its keys", () => {
    const unmarked = sealUnmarked(OLD, "secret", "row");
    expect(createKeyring([NEW, OLD]).unseal(unmarked, "row")).toBe("secret");
    expect(() => createKeyring([NEW]).unseal(unmarked, "row")).toThrow("No key of SECRETS_KEY opens this value.");
    expect(() => createKeyring([OLD]).unseal(unmarked, "other row")).toThrow();
  });

  test("refuses a value of which one bit is another, wherever it is", () => {
    const ring = createKeyring([NEW, OLD]);
    const sealed = ring.seal("secret", "row");
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => ring.unseal(changed, "row")).toThrow();
    }
    for (const short of [Buffer.alloc(0), sealed.subarray(0, 9), sealed.subarray(0, 25), sealed.subarray(0, -1)])
      expect(() => ring.unseal(short, "row")).toThrow();
  });

  test("takes a new key first while it is in use, and goes on to open the rest", () => {
    const ring = createKeyring([OLD]);
    const before = ring.seal("secret", "row");
    ring.addFirst(NEW);
    expect(createKeyring([NEW]).unseal(ring.seal("secret", "row"), "row")).toBe("secret");
    expect(ring.unseal(before, "row")).toBe("secret");
  });

  test("derives keys of its own for another purpose", () => {
    const ring = createKeyring([NEW, OLD]);
    const [first, second] = ring.derive("links");
    expect(first).toHaveLength(32);
    expect([first, second]).toEqual([createKeyring([NEW]).derive("links")[0], createKeyring([OLD]).derive("links")[0]]);
    expect(first).not.toEqual(ring.derive("another purpose")[0]);
  });
});
