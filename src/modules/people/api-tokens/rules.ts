import { randomBytes } from "node:crypto";
import { sha256 } from "#crypto/sha256";

const TOKEN = /^cat_[\w-]{43}$/;

export const isApiToken = (text: string) => TOKEN.test(text);
export const newApiToken = () => `cat_${randomBytes(32).toString("base64url")}`;
/** SHA-256, hexadecimal: 32 random bytes need no salt. */
export const hashApiToken = (token: string) => sha256(token);
