import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { findAnswer } from "./queries/answers";
import { isToken } from "./rules/challenges";

const HEADERS = { "content-type": "text/plain", "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Answers of http-01 (RFC 8555, 8.3), for whoever asks by whatever name: the CA asks by the name that it validates. */
export const httpAnswers = (deps: Deps) =>
  new Elysia().get(
    "/.well-known/acme-challenge/:token",
    async ({ params: { token }, status }) => {
      const answer = isToken(token) ? await findAnswer(deps.sql, token) : undefined;
      return answer === undefined ? status(404, { message: "No order waits for this token." }) : new Response(answer, { headers: HEADERS });
    },
    { detail: { hide: true } },
  );
