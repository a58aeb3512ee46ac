import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { findHttpFault } from "#modules/issuance/domains/rules";
import { ownNames } from "#modules/issuance/domains/services/own-names";
import { findAnswer } from "./queries/answers";
import { isToken } from "./rules/challenges";
import { askedNames } from "./rules/hosts";

const HEADERS = { "content-type": "text/plain", "cache-control": "no-store", "x-content-type-options": "nosniff" };
const OTHER_NAME = "The order that waits for this token is for another name than this was asked by: proxies must pass the Host header on.";

/** Answers of http-01 (RFC 8555, 8.3) to those who ask by the name that is proven. */
export const acmeChallenges = (deps: Deps) =>
  new Elysia().get(
    "/.well-known/acme-challenge/:token",
    async ({ params: { token }, request: { headers }, status }) => {
      const answer = isToken(token) ? await findAnswer(deps.sql, deps.stamps, token, askedNames(headers)) : undefined;
      // The domain may have come to another organization, or the server to the name, since the proof was presented.
      const isForeign = answer && findHttpFault(answer.name, answer.domain, answer.standing, ownNames(deps.config)) !== undefined;
      if (!answer || isForeign) return status(404, { message: "No order waits for this token." });
      return answer.isForName ? new Response(answer.keyAuthorization, { headers: HEADERS }) : status(404, { message: OTHER_NAME });
    },
    { detail: { hide: true } },
  );
