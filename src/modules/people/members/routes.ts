import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { signedIn } from "#guards/signed-in";
import { Refusal } from "#http/errors";
import { etag, ifMatch } from "#http/etag";
import { requestId } from "#http/exchange";
import { jsonText, page, readCursor, UUID_PART } from "#http/pagination";
import { Empty, EmptyObject, isUuid, Message, Page, PageQuery, Uuid } from "#http/schema";
import { acceptInvitation, changeRole, inviteMember, listMembers, removeMember } from "./queries";
import { hashInvitationToken, invitationLink, issueInvitationToken, showsLink } from "./rules";
import { AcceptInvitation, ChangeRole, InviteMember, Member, NewMember } from "./schema";

const NotFound = { message: "There is no such member in this organization." };
const InOrganization = t.Object({ organizationId: Uuid });
const OneMember = t.Object({ organizationId: Uuid, memberId: t.String() });

const inviting = (deps: Deps) =>
  new Elysia({ tags: ["Members"] }).use(inOrganization(deps, { namesActor: true })).post(
    "",
    async ({ scope, body, request, status }) => {
      const { token, tokenHash, expiresAt } = issueInvitationToken(deps.clock());
      const isShown = showsLink(scope.actor);
      const invited = await inviteMember(deps.sql, scope, { ...body, email: body.email.toLowerCase(), tokenHash, expiresAt, isShown });
      if (invited === "member") return status(400, { message: "body.email belongs to a member already." });
      if (invited === "full") throw new Refusal(403, "Every seat of this organization is taken.");
      if (!isShown) return jsonText(invited.json, 201, { etag: etag(invited.version) });
      const invitation = { url: invitationLink(deps.config.publicUrl ?? new URL(request.url).origin, token), expiresAt };
      const headers = { etag: etag(invited.version), "cache-control": "no-store" };
      return jsonText(`${invited.json.slice(0, -1)}, "invitation": ${JSON.stringify(invitation)}}`, 201, headers);
    },
    {
      params: InOrganization,
      body: InviteMember,
      response: { 201: NewMember, 400: Message },
      detail: {
        operationId: "inviteMember",
        summary: "Invite an organization member",
        description:
          "Inviting a pending address again refreshes the same invitation; what is not sent stays. Invitations hold a seat until they expire. Where no mail is sent, the answer to a user token or API token shows the link, this once.",
      },
    },
  );

export const members = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/members", tags: ["Members"] })
    .use(inviting(deps))
    .use(inOrganization(deps))
    .get(
      "",
      async ({ scope, query }) =>
        page(await listMembers(deps.sql, scope.organizationId, { limit: query.limit, after: readCursor(query.cursor, UUID_PART)?.[0] }), query.limit),
      {
        params: InOrganization,
        query: t.Object(PageQuery),
        response: { 200: Page(Member), 400: Message },
        detail: { operationId: "listMembers", summary: "List members", description: "Oldest first, invited ones too." },
      },
    )
    .patch(
      "/:memberId",
      async ({ scope, params, body, request, status }) => {
        if (!isUuid(params.memberId)) return status(404, NotFound);
        const changed = await changeRole(deps.sql, scope, { id: params.memberId, versions: ifMatch(request.headers) }, body.role);
        if (changed === "missing") return status(404, NotFound);
        if (changed === "stale") return status(412, {});
        if (changed === "last admin") return status(409, {});
        return jsonText(changed.json, 200, { etag: etag(changed.version) });
      },
      {
        params: OneMember,
        body: ChangeRole,
        response: { 200: Member, 400: Message, 404: Message, 409: EmptyObject, 412: EmptyObject },
        detail: { operationId: "changeMemberRole", summary: "Change a member's role", description: "409 for the last admin." },
      },
    )
    .delete(
      "/:memberId",
      async ({ scope, params, request, status }) => {
        if (!isUuid(params.memberId)) return status(404, NotFound);
        const removed = await removeMember(deps.sql, scope, { id: params.memberId, versions: ifMatch(request.headers) });
        if (removed === "missing") return status(404, NotFound);
        if (removed === "stale") return status(412, {});
        return removed === "last admin" ? status(409, {}) : status(204, "");
      },
      {
        params: OneMember,
        response: { 204: Empty, 404: Message, 409: EmptyObject, 412: EmptyObject },
        detail: { operationId: "removeMember", summary: "Remove a member or withdraw an invitation", description: "409 for the last admin." },
      },
    );

export const invitations = (deps: Deps) =>
  new Elysia({ prefix: "/invitations", tags: ["Members"] }).use(signedIn(deps)).post(
    "/accept",
    async ({ caller, body, request, status }) => {
      const email = caller.emailVerified ? caller.email : null;
      const accepting = { tokenHash: hashInvitationToken(body.token), userId: caller.userId, email };
      const accepted = await acceptInvitation(deps.sql, accepting, requestId(request));
      if (accepted === "missing") return status(404, { message: "This invitation is not known, was used, or has expired." });
      if (accepted === "stranger") throw new Refusal(403, "This invitation is for another e-mail address than your token's verified one.");
      if (accepted === "member") return status(409, {});
      return jsonText(accepted.json, 200, { etag: etag(accepted.version) });
    },
    {
      body: AcceptInvitation,
      response: { 200: Member, 400: Message, 403: Message, 404: Message, 409: EmptyObject },
      detail: {
        operationId: "acceptInvitation",
        summary: "Accept an invitation",
        description: "With the token from the invitation, once, by the owner of the invited address. 409 for a user who is a member already.",
      },
    },
  );
