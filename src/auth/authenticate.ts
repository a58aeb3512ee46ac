import type { Deps } from "#deps";
import { Refusal } from "#http/errors";

/** The token of `Authorization: Bearer …`; "" when the header is there but holds something else. */
export function bearerToken({ headers }: Request) {
  const value = headers.get("authorization");
  return value === null ? undefined : (/^bearer +([\w.~+/=-]+)$/i.exec(value.trim())?.[1] ?? "");
}

/** The user of the request, or 401. */
export async function authenticate({ tokens, limits }: Deps, request: Request) {
  const token = bearerToken(request);
  const caller = await tokens.verify(token ?? "");
  if (!caller) throw new Refusal(401, token ? "the token is not valid, has expired or was signed out" : "there is no bearer token");
  limits.charge(request, { type: "user", id: caller.userId });
  return caller;
}
