import type { Deps } from "../deps";
import { Refusal } from "../http/errors";

/** The token of `Authorization: Bearer …`; "" when the header is there but holds something else. */
export function bearerToken({ headers }: Request) {
  const value = headers.get("authorization");
  return value === null ? undefined : (/^bearer +([\w.~+/=-]+)$/i.exec(value.trim())?.[1] ?? "");
}

/** The user of the request, or 401. */
export async function authenticate({ tokens }: Deps, request: Request) {
  const caller = await tokens.verify(bearerToken(request) ?? "");
  if (!caller) throw new Refusal(401);
  return caller;
}
