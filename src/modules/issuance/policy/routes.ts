import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag, ifMatch } from "#http/etag";
import { unlessForbidden } from "#http/forbidden";
import { jsonText, respond } from "#http/respond";
import { EmptyObject, Message, NotFound, PathId, Uuid } from "#http/schema";
import { DEFAULT_POLICY, readPolicy } from "#modules/issuance/issuing/rules/policy";
import { IssuancePolicyAnswer, PutIssuancePolicy, RefusePolicy } from "#modules/issuance/requests/schema/requests";
import { decideProposal, findIssuancePolicy, putIssuancePolicy } from "./queries";

const NO_PROPOSAL = "There is no such proposal for the issuance policy of this organization: it was decided on, or another one took its place.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneProposal = t.Object({ organizationId: Uuid, proposalId: PathId });

export const issuancePolicy = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/issuance-policy", tags: ["Issuance"] })
    .use(inOrganization(deps))
    .get("", async ({ scope }) => respond(await findIssuancePolicy(deps.sql, scope.organizationId), "There is no such organization."), {
      params: InOrganization,
      response: { 200: IssuancePolicyAnswer, 404: NotFound("There is no such organization.") },
      detail: {
        operationId: "getIssuancePolicy",
        summary: "What may be ordered",
        description: "The default, which allows everything without an approval, has version 0.",
      },
    })
    .put(
      "",
      async ({ scope, body, request }) => {
        const policy = readPolicy({ ...DEFAULT_POLICY, ...body });
        if ("invalid" in policy) return respond(policy);
        const put = await putIssuancePolicy(deps.sql, scope, policy, ifMatch(request.headers), deps.clock());
        if (put === "stale" || !put.waits) return respond(put);
        return jsonText(put.json, 202, { etag: etag(put.version) });
      },
      {
        params: InOrganization,
        body: PutIssuancePolicy,
        response: { 200: IssuancePolicyAnswer, 202: IssuancePolicyAnswer, 400: Message, 412: EmptyObject },
        detail: {
          operationId: "putIssuancePolicy",
          summary: "Decide what may be ordered",
          description:
            "Takes the place of the policy that is there, and of the one that is proposed; what is left out is as by default. It counts for requests that are made from now on. Where the policy that is there asks for approvals, what allows more than it waits for another admin, as proposal: 202; what allows less counts at once.",
        },
      },
    )
    .post(
      "/proposals/:proposalId/approve",
      async ({ scope, params }) =>
        respond(unlessForbidden(await decideProposal(deps.sql, scope, params.proposalId, { isApproved: true, reason: "" })), NO_PROPOSAL),
      {
        params: OneProposal,
        response: { 200: IssuancePolicyAnswer, 400: Message, 404: NotFound(NO_PROPOSAL) },
        detail: {
          operationId: "approveIssuancePolicy",
          summary: "Approve a proposed issuance policy",
          description:
            "It counts from now on. Needs the token of a user other than who proposed it, or than the user behind the API token that did: else 403. Where no user is known to have proposed it, it takes two users, as with certificate requests.",
        },
      },
    )
    .post(
      "/proposals/:proposalId/refuse",
      async ({ scope, params, body }) =>
        respond(unlessForbidden(await decideProposal(deps.sql, scope, params.proposalId, { isApproved: false, reason: body.reason })), NO_PROPOSAL),
      {
        params: OneProposal,
        body: RefusePolicy,
        response: { 200: IssuancePolicyAnswer, 400: Message, 404: NotFound(NO_PROPOSAL) },
        detail: {
          operationId: "refuseIssuancePolicy",
          summary: "Refuse a proposed issuance policy",
          description: "By whom it may be approved. Who proposed it takes it back by a PUT of the policy that is there.",
        },
      },
    );
