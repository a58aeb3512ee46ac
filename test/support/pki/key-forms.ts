import { createPrivateKey, createPublicKey } from "node:crypto";

/**
 * A private key of elliptic curves in every form in which it could be told: its own number, in bytes and in letters, and the
 * lines of its PEM that hold some of it.
 */
export function formsOf(pem: string) {
  const secret = Buffer.from(createPrivateKey(pem).export({ format: "jwk" }).d ?? "", "base64url");
  const spki = createPublicKey(pem).export({ format: "der", type: "spki" });
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), secret])
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  const inHex = secret.toString("hex");
  const lines = pem.split("\n").filter((line) => /^[A-Za-z0-9+/=]{20,}$/.test(line) && !spki.includes(Buffer.from(line, "base64")));
  const forms = [inHex, inHex.toUpperCase(), ...inBase64, ...inBase64.map((each) => each.replaceAll("+", "-").replaceAll("/", "_")), ...lines];
  return [secret, ...forms.map((each) => Buffer.from(each))];
}
