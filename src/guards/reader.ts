import { Elysia } from "elysia";
import type { Deps } from "../deps";
import { Unauthorized } from "../http/schema";
import { isApiToken } from "../modules/api-tokens/rules";
import { authenticateApiToken } from "./api-token";
import { authenticate, bearerToken } from "./authenticate";

/** A user with a valid token or an API token, for reading: `caller`. Which organization it belongs to is for the route to ask. */
export const reader = (deps: Deps) =>
  new Elysia({ name: "reader" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["userToken"], ["apiToken"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const token = bearerToken(request) ?? "";
      return { caller: isApiToken(token) ? await authenticateApiToken(deps, request, token) : await authenticate(deps, request) };
    });
