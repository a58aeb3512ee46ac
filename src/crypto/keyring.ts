import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

const NONCE = 12;
const TAG = 16;
const MAC = 32;
const ID = 8;
/** Format of a sealed value; the id of its key follows. A value without it was sealed by a release that knew one key only. */
const FORMAT = Buffer.from([0xce, 0x01]);

/** Length of what a sealed value begins with: the format and the id of its key. */
export const HEADER_LENGTH = FORMAT.length + ID;

/** The keys of SECRETS_KEY. The first one seals, every one opens. */
export type Keyring = ReturnType<typeof createKeyring>;

type Key = { id: string; header: Buffer; bytes: Uint8Array; stampKey: Buffer };

/** Returns a ring of `given`, 32 bytes each. */
export function createKeyring(given: readonly Uint8Array[]) {
  let keys = given.map(readKey);

  function keyOf(id: string | undefined) {
    const key = keys.find((each) => each.id === id);
    if (!key) throw new Error("The ring does not hold this key.");
    return key;
  }

  /** AES-256-GCM: header, nonce, ciphertext, tag. `context` binds the secret to its row, so that it opens nowhere else. */
  function seal(secret: string, context: string, keyId = keys[0]?.id): Buffer {
    const { header, bytes } = keyOf(keyId);
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv("aes-256-gcm", bytes, nonce).setAAD(Buffer.concat([header, Buffer.from(context)]));
    return Buffer.concat([header, nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  /** Returns the secret and the id of the key that opened it; throws when no key opens it in this context or a bit of it is another. */
  function open(sealed: Uint8Array, context: string) {
    const value = Buffer.from(sealed);
    const named = keys.find(({ header }) => value.subarray(0, HEADER_LENGTH).equals(header));
    if (named) return { secret: decrypt(named.bytes, value.subarray(HEADER_LENGTH), [named.header, Buffer.from(context)]), keyId: named.id };
    for (const { id, bytes } of keys) {
      try {
        return { secret: decrypt(bytes, value, [Buffer.from(context)]), keyId: id };
      } catch {} // sealed with another key
    }
    throw new Error("No key of SECRETS_KEY opens this value.");
  }

  /** As `open`, but undefined for a value that does not open. */
  function tryOpen(sealed: Uint8Array, context: string) {
    try {
      return open(sealed, context);
    } catch {
      return;
    }
  }

  /** HMAC-SHA256 of a text, behind the id of its key. It shows nothing of the key, and none but a holder of the key makes it. */
  function stamp(text: string): Buffer {
    const { header, stampKey } = keyOf(keys[0]?.id);
    return Buffer.concat([header, macOf(stampKey, text)]);
  }

  /** True where a key of the ring has stamped this text. */
  function isStampOf(stamp: Uint8Array, text: string) {
    const value = Buffer.from(stamp);
    const key = keys.find(({ header }) => value.subarray(0, HEADER_LENGTH).equals(header));
    const mac = value.subarray(HEADER_LENGTH);
    return key !== undefined && mac.length === MAC && timingSafeEqual(mac, macOf(key.stampKey, text));
  }

  return {
    seal,
    open,
    stamp,
    isStampOf,
    tryOpen,
    unseal: (sealed: Uint8Array, context: string) => open(sealed, context).secret,
    /** Ids of the keys, the one that seals first. They show nothing of the keys. */
    ids: () => keys.map(({ id }) => id),
    /** Returns the beginning of a value that the first key sealed. */
    header: () => keyOf(keys[0]?.id).header,
    /** A key of its own for another purpose out of each key, in the order of the ring. */
    derive: (purpose: string) => keys.map(({ bytes }) => derive(bytes, purpose, 32)),
    /** Seals with `key` from now on; the others go on to open. */
    addFirst(key: Uint8Array) {
      keys = [readKey(key), ...keys];
    },
  };
}

/** Returns the ring that SECRETS_KEY lists, 32 bytes in base64 each, and what is wrong with the list, a sentence each. */
export function readKeyring(list: string) {
  const given = list.split(",").flatMap((each) => (each.trim() ? Buffer.from(each, "base64") : []));
  const keyring = createKeyring(given);
  const faults: string[] = [];
  if (given.some(({ length }) => length !== 32))
    faults.push("SECRETS_KEY must be 32 bytes in base64 (openssl rand -base64 32), or several such, comma-separated.");
  if (new Set(keyring.ids()).size < given.length) faults.push("SECRETS_KEY names a key twice.");
  return { keyring, faults };
}

/** Returns the id of the key that sealed a value, or undefined where the value names none. */
export function keyIdOf(sealed: Uint8Array) {
  const value = Buffer.from(sealed);
  return value.subarray(0, FORMAT.length).equals(FORMAT) ? value.toString("hex", FORMAT.length, HEADER_LENGTH) : undefined;
}

function readKey(bytes: Uint8Array): Key {
  const id = derive(bytes, "certitude key id", ID);
  return { id: id.toString("hex"), header: Buffer.concat([FORMAT, id]), bytes, stampKey: derive(bytes, "certitude stamp", MAC) };
}

const derive = (key: Uint8Array, purpose: string, length: number) => Buffer.from(hkdfSync("sha256", key, "", purpose, length));

const macOf = (key: Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();

function decrypt(key: Uint8Array, value: Buffer, context: Buffer[]) {
  const decipher = createDecipheriv("aes-256-gcm", key, value.subarray(0, NONCE)).setAAD(Buffer.concat(context));
  decipher.setAuthTag(value.subarray(-TAG));
  return Buffer.concat([decipher.update(value.subarray(NONCE, -TAG)), decipher.final()]).toString("utf8");
}
