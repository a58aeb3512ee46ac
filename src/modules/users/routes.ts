import { Elysia, t } from "elysia";
import type { Deps } from "../../deps";
import { signedIn } from "../../guards/signed-in";
import { jsonText } from "../../http/page";
import { Answer, Body, DateTime, Message, Nullable, OneOf, Text, Uuid } from "../../http/schema";
import { findMe, updateProfile } from "./queries";

const Profile = Body(
  { displayName: t.Optional(Text({ max: 120, examples: ["Ada"] })), fullName: t.Optional(Text({ max: 120, examples: ["Ada Lovelace"] })) },
  { title: "Profile", minProperties: 1 },
);

const Me = Answer(
  {
    id: Uuid,
    email: Nullable(t.String({ examples: ["ada@certitude.example"] })),
    displayName: Nullable(t.String({ examples: ["Ada"] })),
    fullName: Nullable(t.String({ examples: ["Ada Lovelace"] })),
    platformAdmin: t.Boolean(),
    createdAt: DateTime,
    updatedAt: DateTime,
    memberships: t.Array(Answer({ organizationId: Uuid, organizationName: t.String({ examples: ["Example Ltd"] }), role: OneOf(["ORG_ADMIN", "ORG_MEMBER"]) })),
  },
  { title: "Me" },
);

export const users = (deps: Deps) =>
  new Elysia({ prefix: "/users/me", tags: ["User"] })
    .use(signedIn(deps))
    .get(
      "",
      async ({ caller, status }) => {
        const me = await findMe(deps.sql, caller.userId, deps.config.platformAdmins.has(caller.userId));
        return me === undefined ? status(401, "") : jsonText(me);
      },
      { response: { 200: Me }, detail: { operationId: "getMe", summary: "The signed-in user and their organizations" } },
    )
    .patch(
      "/profile",
      async ({ caller, body }) => {
        await updateProfile(deps.sql, caller.userId, body);
        return { message: "Profile updated" };
      },
      {
        body: Profile,
        response: { 200: Message, 400: Message },
        detail: { operationId: "updateProfile", summary: "Update the authenticated user's profile", description: "At least one of the two names." },
      },
    );
