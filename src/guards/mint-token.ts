import { jwt } from "@elysiajs/jwt";
import type { Deps } from "../deps";

type Wish = { user: string; email?: string | undefined; name?: string | undefined; ttl: number };

/** A user token signed with JWT_SECRET, `ttl` in seconds; undefined where an identity provider signs the tokens. */
export async function mintToken({ config }: Pick<Deps, "config">, { user, email, name, ttl }: Wish) {
  if (!config.jwtSecret) return;
  const claims = { sub: user, ...(email && { email }), ...(name && { name }), ...(config.jwtAudience && { aud: config.jwtAudience }) };
  return jwt({ secret: config.jwtSecret }).decorator.jwt.sign({ ...claims, jti: crypto.randomUUID(), exp: Math.floor(Date.now() / 1000) + ttl });
}
