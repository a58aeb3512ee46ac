/** Returns a DER value: the tag byte, the length, the content. */
export function tagged(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number) {
  if (length < 128) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

export const sequence = (...parts: Uint8Array[]) => tagged(0x30, ...parts);
export const octets = (bytes: Uint8Array) => tagged(0x04, bytes);
export const bits = (bytes: Uint8Array) => tagged(0x03, Buffer.from([0]), bytes);
/** An object identifier, its content in hexadecimal. */
export const oid = (hex: string) => tagged(0x06, Buffer.from(hex, "hex"));

/** A number that is not negative, in hexadecimal. */
export function integer(hex: string) {
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return tagged(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.alloc(1), bytes]));
}

const digits = (at: Date) => at.toISOString().slice(0, 19).replace(/[-:T]/g, "");
/** To the second. */
export const generalizedTime = (at: Date) => tagged(0x18, Buffer.from(`${digits(at)}Z`));
/** As certificates and CRLs write it (RFC 5280, 4.1.2.5): UTCTime until 2049. */
export const time = (at: Date) => (at.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(`${digits(at).slice(2)}Z`)) : generalizedTime(at));

/** A text in PEM, of whatever label. */
export function toPem(label: string, der: Uint8Array) {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
