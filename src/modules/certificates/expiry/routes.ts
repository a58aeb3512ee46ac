import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { respond } from "#http/respond";
import { EmptyObject, Message, NotFound, Uuid } from "#http/schema";
import { findExpiryPolicy, putExpiryPolicy } from "./queries/policy";
import { DEFAULT_POLICY, findPolicyFault } from "./rules";
import { ExpiryPolicyAnswer, PutExpiryPolicy } from "./schema";

const NO_ORGANIZATION = "There is no such organization.";
const InOrganization = t.Object({ organizationId: Uuid });

export const expiryPolicy = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certificates/expiry-policy", tags: ["Certificates"] })
    .use(inOrganization(deps))
    .get("", async ({ scope }) => respond(await findExpiryPolicy(deps.sql, scope.organizationId), NO_ORGANIZATION), {
      params: InOrganization,
      response: { 200: ExpiryPolicyAnswer, 404: NotFound(NO_ORGANIZATION) },
      detail: { operationId: "getExpiryPolicy", summary: "When members are notified of certificates that expire", description: "The defaults have version 0." },
    })
    .put(
      "",
      async ({ scope, body, request }) => {
        const policy = { ...DEFAULT_POLICY, ...body };
        const invalid = findPolicyFault(policy);
        if (invalid) return respond({ invalid });
        return respond(await putExpiryPolicy(deps.sql, scope, policy, ifMatch(request.headers)));
      },
      {
        params: InOrganization,
        body: PutExpiryPolicy,
        response: { 200: ExpiryPolicyAnswer, 400: Message, 412: EmptyObject },
        detail: {
          operationId: "putExpiryPolicy",
          summary: "Decide when members are notified of certificates that expire",
          description: "Takes the place of the policy that is there; what is left out is as by default. Every certificate is judged by it within a minute.",
        },
      },
    );
