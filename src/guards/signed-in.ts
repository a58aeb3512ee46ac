import { Elysia } from "elysia";
import { authenticate } from "#auth/authenticate";
import type { Deps } from "#deps";
import { readBody } from "#http/body";
import { Unauthorized } from "#http/schema";

/** A user with a valid token: `caller`. */
export const signedIn = (deps: Deps) =>
  new Elysia({ name: "signed-in" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["userToken"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      return { caller: await authenticate(deps, request) };
    })
    .onTransform({ as: "scoped" }, readBody);
