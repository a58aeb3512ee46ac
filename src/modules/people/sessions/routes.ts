import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { signedIn } from "#guards/signed-in";
import { requestId } from "#http/exchange";
import { Empty } from "#http/schema";

export const sessions = (deps: Deps) =>
  new Elysia({ prefix: "/auth", tags: ["User"] }).use(signedIn(deps)).post(
    "/sign-out",
    async ({ caller, request, status }) => {
      await deps.tokens.signOut(caller, requestId(request));
      return status(204, "");
    },
    {
      response: { 204: Empty },
      detail: { operationId: "signOut", summary: "Sign out the current session", description: "The token is refused everywhere from now on." },
    },
  );
