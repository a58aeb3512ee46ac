import { createPrivateKey } from "node:crypto";
import { SignJWT } from "jose";
import type { Values } from "#catalogue/fields";
import type { Way } from "#modules/core/connectors/rules/auth-methods";

const MINUTE_S = 60;
const NO_KEY = "must be an RSA private key in PEM.";

/** A JWT by which a connection shows that it has a private key, or why it has none. */
export function assert(kind: NonNullable<Way["assertion"]>, values: Values, now: Date): Promise<string> | { fault: string } {
  const issuedAt = Math.floor(now.getTime() / 1_000);
  if (kind === "github") {
    const key = openKey(values.appPrivateKeyPem);
    if (!key) return { fault: `Its appPrivateKeyPem ${NO_KEY}` };
    // GitHub takes no JWT of the future or of more than ten minutes: a minute each way for clocks that differ.
    const jwt = new SignJWT().setIssuer(String(values.appId)).setIssuedAt(issuedAt - MINUTE_S);
    return jwt
      .setExpirationTime(issuedAt + 8 * MINUTE_S)
      .setProtectedHeader({ alg: "RS256" })
      .sign(key);
  }
  const account = readAccount(values.serviceAccountKeyJson);
  const key = openKey(account.private_key);
  if (!key || typeof account.client_email !== "string") return { fault: "Its serviceAccountKeyJson must have client_email, and private_key with an RSA key." };
  const jwt = new SignJWT({ scope: "https://www.googleapis.com/auth/cloud-platform" }).setIssuer(account.client_email).setIssuedAt(issuedAt);
  return jwt
    .setAudience("https://oauth2.googleapis.com/token")
    .setExpirationTime(issuedAt + 5 * MINUTE_S)
    .setProtectedHeader({ alg: "RS256", ...(typeof account.private_key_id === "string" && { kid: account.private_key_id }) })
    .sign(key);
}

function openKey(pem: unknown) {
  try {
    const key = createPrivateKey(String(pem));
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return; // the sentence says what it must be
  }
}

function readAccount(json: unknown): Record<string, unknown> {
  try {
    return Object(JSON.parse(String(json)));
  } catch {
    return {}; // the same
  }
}
