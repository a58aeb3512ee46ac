import { createPrivateKey, createPublicKey } from "node:crypto";
import { calculateJwkThumbprint, FlattenedSign, importJWK, type JWK, type JWSHeaderParameters } from "jose";
import { Unusable } from "../rules/problems";

const ALGORITHMS: Record<string, string> = { "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", Ed25519: "EdDSA" };

/** The key of an account at a CA. */
export type AccountKey = Awaited<ReturnType<typeof openAccountKey>>;

/** Opens a private key in PEM: EC, RSA or Ed25519. */
export async function openAccountKey(pem: string) {
  const { jwk, publicJwk, alg } = read(pem);
  const key = await importJWK(jwk, alg).catch(() => {
    throw new Unusable("The account key is none that ACME can use.", true);
  });
  const thumbprint = await calculateJwkThumbprint(publicJwk);
  /** Returns a JWS in the flattened JSON serialization; an empty payload is that of a POST-as-GET. */
  const sign = (payload: object | undefined, header: JWSHeaderParameters) =>
    new FlattenedSign(encode(payload)).setProtectedHeader({ ...header, alg }).sign(key);
  return { publicJwk, thumbprint, sign };
}

/** Returns the JWS by which a CA knows to which customer an account belongs (RFC 8555, 7.3.4). `hmacKey` is in base64, URL-safe or not. */
export const bindAccount = ({ publicJwk }: Pick<AccountKey, "publicJwk">, { keyId, hmacKey }: { keyId: string; hmacKey: string }, url: string) =>
  new FlattenedSign(encode(publicJwk)).setProtectedHeader({ alg: "HS256", kid: keyId, url }).sign(Buffer.from(hmacKey, "base64"));

const encode = (payload: object | undefined) => new TextEncoder().encode(payload === undefined ? "" : JSON.stringify(payload));

function read(pem: string) {
  try {
    const key = createPrivateKey(pem);
    const jwk = key.export({ format: "jwk" }) as JWK;
    const publicJwk = createPublicKey(key).export({ format: "jwk" }) as JWK;
    const alg = jwk.kty === "RSA" ? "RS256" : ALGORITHMS[jwk.crv ?? ""];
    if (alg) return { jwk, publicJwk, alg };
  } catch {} // answered below
  throw new Unusable("The account key must be an EC (P-256, P-384, P-521), RSA or Ed25519 private key in PEM.", true);
}
