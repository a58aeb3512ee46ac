/** Larger than any token, smaller than what servers refuse without a word. */
const MAX_LENGTH = 8_000;
const API_TOKEN_LENGTH = 47;
/** Of a JWT's signature (RFC 7518, 3.1), in base64url. RSA's depends on the key: of 2,048 bits at least. */
const SIGNATURE_LENGTHS: Record<string, number> = { HS256: 43, HS384: 64, HS512: 86, ES256: 86, ES384: 128, ES512: 176, EdDSA: 86 };
const RSA_SIGNATURE_LENGTH = 342;

/** Returns the token in a pasted text: without "Bearer", spaces and line breaks. Throws, in a sentence, where it can be no whole one. */
export function readToken(text: string) {
  if (text.length > MAX_LENGTH) throw new Error(`This text has ${text.length.toLocaleString()} characters, more than any token. Paste the token alone.`);
  const token = text.replaceAll(/\s/g, "").replace(/^bearer/i, "");
  const [strange] = /[^\w.~+/=-]/u.exec(token) ?? [];
  if (strange) throw new Error(`No token has “${strange}” in it. Copy it once more, and paste it alone.`);
  if (!isWhole(token)) throw new Error("This token ends in the middle. Copy the whole of it.");
  return token;
}

function isWhole(token: string) {
  if (token.startsWith("cat_")) return token.length >= API_TOKEN_LENGTH;
  if (!token.startsWith("eyJ")) return true; // the server knows
  const [header = "", , signature = ""] = token.split(".");
  return signature.length >= signatureLength(header);
}

function signatureLength(header: string) {
  try {
    const { alg } = JSON.parse(atob(header.replaceAll("-", "+").replaceAll("_", "/")));
    return SIGNATURE_LENGTHS[alg] ?? RSA_SIGNATURE_LENGTH;
  } catch {
    return 1; // the header itself is cut, or another's: something must stand there
  }
}
