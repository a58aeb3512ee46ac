import { SignJWT } from "jose";
import type { Deps } from "#deps";

type Wish = { user: string; email?: string | undefined; name?: string | undefined; ttl: number };

/** Returns a user token signed with JWT_SECRET, `ttl` in seconds; undefined where an identity provider signs the tokens. */
export async function mintToken({ config }: Pick<Deps, "config">, { user, email, name, ttl }: Wish) {
  if (!config.jwtSecret) return;
  const iat = Math.floor(Date.now() / 1000);
  const times = { iat, exp: iat + ttl };
  const claims = { sub: user, ...(email && { email, email_verified: true }), ...(name && { name }), ...(config.jwtAudience && { aud: config.jwtAudience }) };
  return new SignJWT({ ...claims, ...times, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(new TextEncoder().encode(config.jwtSecret));
}
