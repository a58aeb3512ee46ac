import type { Deps } from "#deps";
import { Refusal } from "#http/errors";
import { findTokenHolder, noteUse } from "#modules/people/api-tokens/queries";
import { hashApiToken } from "#modules/people/api-tokens/rules";

/** The live API token that a request shows, or 401. Looked up at each request, so that a revoked one ends at once on every replica. */
export async function authenticateApiToken({ sql, clock, log, limits }: Deps, request: Request, token: string) {
  const tokenHash = hashApiToken(token);
  limits.refuseIfEmpty("api-token", tokenHash);
  const holder = await findTokenHolder(sql, tokenHash, clock());
  if (!holder) throw new Refusal(401, "the API token is not valid, has expired or was revoked");
  const { isDue, ...known } = holder;
  limits.charge(request, { type: "api-token", id: known.apiTokenId }, tokenHash);
  // Not awaited: the answer does not wait for a note.
  if (isDue) noteUse(sql, known, clock()).catch((error) => log.warn({ err: error }, "storing the last use of an API token failed"));
  return known;
}
