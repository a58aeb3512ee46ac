import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { findAnswer } from "./queries/answers";
import { isToken } from "./rules/challenges";
import { askedNames } from "./rules/hosts";

const HEADERS = { "content-type": "text/plain", "cache-control": "no-store", "x-content-type-options": "nosniff" };
const OTHER_NAME = "The order that waits for this token is for another name than this was asked by: proxies must pass the Host header on.";

/** Answers of http-01 (RFC 8555, 8.3), for whoever asks by the name that is proven. */
export const httpAnswers = (deps: Deps) =>
  new Elysia().get(
    "/.well-known/acme-challenge/:token",
    async ({ params: { token }, request: { headers }, status }) => {
      const answer = isToken(token) ? await findAnswer(deps.sql, token, askedNames(headers)) : undefined;
      if (!answer) return status(404, { message: "No order waits for this token." });
      return answer.isForName ? new Response(answer.keyAuthorization, { headers: HEADERS }) : status(404, { message: OTHER_NAME });
    },
    { detail: { hide: true } },
  );
