import { Elysia } from "elysia";
import { authenticateApiToken } from "#auth/api-token";
import { authenticate, bearerToken } from "#auth/authenticate";
import type { Deps } from "#deps";
import { exchangeOf } from "#http/exchange";
import { Unauthorized } from "#http/schema";
import { isApiToken } from "#modules/people/api-tokens/rules";

/** A user with a valid token or an API token, for reading: `caller`. Which organization it belongs to is for the route to ask. */
export const reader = (deps: Deps) =>
  new Elysia({ name: "reader" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["userToken"], ["apiToken"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const token = bearerToken(request) ?? "";
      if (!isApiToken(token)) return { caller: await authenticate(deps, request) };
      const caller = await authenticateApiToken(deps, request, token);
      exchangeOf(request).tokenOrganizationId = caller.organizationId;
      return { caller };
    });
