import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { signedIn } from "#guards/signed-in";
import { Refusal } from "#http/errors";
import { etag, ifMatch } from "#http/etag";
import { requestId } from "#http/exchange";
import { page, pageAfter } from "#http/pagination";
import { jsonText, respond, respondWithSecret } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";
import { acceptInvitation } from "./queries/invitations";
import { changeRole, listMembers, removeMember } from "./queries/members";
import { hashInvitationToken } from "./rules";
import { AcceptInvitation, ChangeRole, InviteMember, Member, NewMember } from "./schema";
import { invite } from "./services/invite";

const NO_MEMBER = "There is no such member in this organization.";
const NO_INVITATION = "This invitation is not known, was used, or has expired.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneMember = t.Object({ organizationId: Uuid, memberId: PathId });

const inviting = (deps: Deps) =>
  new Elysia({ tags: ["Members"] }).use(inOrganization(deps, { namesActor: true })).post(
    "",
    async ({ scope, body, request }) => {
      const { invited, link } = await invite(deps, scope, body, deps.config.publicUrl ?? new URL(request.url).origin);
      if (invited === "member") return respond({ invalid: "body.email belongs to a member already." });
      if (invited === "full") throw new Refusal(403, "Every seat of this organization is taken.");
      if ("tooMany" in invited)
        throw new Refusal(
          429,
          `${invited.tooMany} invitations within a day, which is the most. Try again tomorrow.`,
          { "retry-after": "86400" },
          "too many invitations",
        );
      return link ? respondWithSecret(invited, "invitation", link) : jsonText(invited.json, 201, { etag: etag(invited.version) });
    },
    {
      params: InOrganization,
      body: InviteMember,
      response: { 201: NewMember, 400: Message },
      detail: {
        operationId: "inviteMember",
        summary: "Invite an organization member",
        description:
          "The link goes out by mail, at most five times a day to one address and 500 times in all: beyond it 429. `invitationMail` says how that fared. Inviting a pending address again refreshes the same invitation, and sends a new link in the place of the earlier one; what is not sent stays. Invitations hold a seat until they expire. Where no mail is sent, the answer to a user token or API token shows the link, this once.",
      },
    },
  );

export const members = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/members", tags: ["Members"] })
    .use(inviting(deps))
    .use(inOrganization(deps))
    .get("", async ({ scope, query }) => page(await listMembers(deps.sql, scope.organizationId, pageAfter(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(Member), 400: Message },
      detail: { operationId: "listMembers", summary: "List members", description: "Oldest first, invited ones too." },
    })
    .patch(
      "/:memberId",
      async ({ scope, params, body, request }) =>
        respond(await changeRole(deps.sql, deps.stamps, scope, { id: params.memberId, versions: ifMatch(request.headers) }, body.role), NO_MEMBER),
      {
        params: OneMember,
        body: ChangeRole,
        response: { 200: Member, 400: Message, 404: NotFound(NO_MEMBER), 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "changeMemberRole",
          summary: "Change a member's role",
          description: "409 for the last admin, and to make an admin of a member whom this server did not let in.",
        },
      },
    )
    .delete(
      "/:memberId",
      async ({ scope, params, request }) =>
        respond(await removeMember(deps.sql, scope, { id: params.memberId, versions: ifMatch(request.headers) }), NO_MEMBER),
      {
        params: OneMember,
        response: { 204: Empty, 404: NotFound(NO_MEMBER), 409: EmptyObject, 412: EmptyObject },
        detail: { operationId: "removeMember", summary: "Remove a member or withdraw an invitation", description: "409 for the last admin." },
      },
    );

export const invitations = (deps: Deps) =>
  new Elysia({ prefix: "/invitations", tags: ["Members"] }).use(signedIn(deps)).post(
    "/accept",
    async ({ caller, body, request }) => {
      const email = caller.emailVerified ? caller.email : null;
      const accepting = { tokenHash: hashInvitationToken(body.token), userId: caller.userId, email };
      const accepted = await acceptInvitation(deps.sql, deps.stamps, accepting, requestId(request));
      if (accepted === "stranger") throw new Refusal(403, "This invitation is for another e-mail address than your token's verified one.");
      if (accepted === "held") throw new Refusal(403, `This invitation ${UNPROVEN}. Ask to be invited again. ${TO_TRUST}`);
      return respond(accepted, NO_INVITATION);
    },
    {
      body: AcceptInvitation,
      response: { 200: Member, 400: Message, 403: Message, 404: NotFound(NO_INVITATION), 409: EmptyObject },
      detail: {
        operationId: "acceptInvitation",
        summary: "Accept an invitation",
        description: "With the token from the invitation, once, by the owner of the invited address. 409 for a user who is a member already.",
      },
    },
  );
