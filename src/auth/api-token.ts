import type { Deps } from "#deps";
import { Refusal } from "#http/errors";
import { findTokenHolder, noteUse } from "#modules/people/api-tokens/queries";
import { hashApiToken } from "#modules/people/api-tokens/rules";
import { apiTokenStanding } from "./standing";

/** The live API token that a request shows, or 401. Looked up at each request, so that a revoked one ends at once on every replica. */
export async function authenticateApiToken(deps: Deps, request: Request, token: string) {
  const { sql, clock, log, limits } = deps;
  const tokenHash = hashApiToken(token);
  limits.refuseIfEmpty("api-token", tokenHash);
  const holder = await findTokenHolder(sql, tokenHash, clock());
  if (!holder) throw new Refusal(401, "the API token is not valid, has expired or was revoked");
  const { organizationId, id: apiTokenId } = holder.facts;
  const known = { organizationId, apiTokenId, makerId: holder.makerId, role: await apiTokenStanding(deps, holder) };
  limits.charge(request, { type: "api-token", id: apiTokenId }, tokenHash);
  // Not awaited: the answer does not wait for a note.
  if (holder.isDue) noteUse(sql, known, clock()).catch((error) => log.warn({ err: error }, "storing the last use of an API token failed"));
  return known;
}
