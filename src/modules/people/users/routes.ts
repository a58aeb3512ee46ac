import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { signedIn } from "#guards/signed-in";
import { Refusal } from "#http/errors";
import { etag, ifMatch } from "#http/etag";
import { respond } from "#http/respond";
import { Answer, Body, CreatedAt, EmptyObject, Integer, Message, Nullable, OneOf, Text, UpdatedAt, Uuid } from "#http/schema";
import { findMe, updateProfile } from "./queries";

const Profile = Body(
  {
    displayName: t.Optional(Text({ max: 120, description: "What others see", examples: ["Ada"] })),
    fullName: t.Optional(Text({ max: 120, description: "First name and last name, in the user's own order", examples: ["Ada Lovelace"] })),
  },
  { title: "Profile", minProperties: 1 },
);

const Me = Answer(
  {
    id: { ...Uuid, description: "The token's subject, where that is a UUID; else made of issuer and subject" },
    email: Nullable(t.String({ description: "As the token says", examples: ["ada@certitude.example"] })),
    displayName: Nullable(t.String({ description: "What others see", examples: ["Ada"] })),
    fullName: Nullable(t.String({ description: "First name and last name, in the user's own order", examples: ["Ada Lovelace"] })),
    platformAdmin: t.Boolean({ description: "Whether the user is of the platform's staff" }),
    version: Integer({ description: "Of the profile: the names and the e-mail address" }),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
    memberships: t.Array(
      Answer({
        organizationId: { ...Uuid, description: "The organization" },
        organizationName: t.String({ description: "What people call it", examples: ["Example Ltd"] }),
        role: OneOf(["ORG_ADMIN", "ORG_MEMBER"], { description: "ORG_MEMBER reads, ORG_ADMIN writes too" }),
      }),
      { description: "The organizations that the user is an active member of" },
    ),
  },
  { title: "Me", hasTag: true },
);

export const users = (deps: Deps) =>
  new Elysia({ prefix: "/users/me", tags: ["User"] })
    .use(signedIn(deps))
    .get(
      "",
      async ({ caller }) => {
        const me = await findMe(deps.sql, caller.userId, deps.config.platformAdmins.has(caller.userId));
        if (me === undefined) throw new Refusal(401, "the user is gone");
        return respond(me);
      },
      { response: { 200: Me }, detail: { operationId: "getMe", summary: "The signed-in user and their organizations" } },
    )
    .patch(
      "/profile",
      async ({ caller, body, request, set }) => {
        const version = await updateProfile(deps.sql, caller.userId, ifMatch(request.headers), body);
        if (version === "stale") return respond(version);
        set.headers.etag = etag(version);
        return { message: "Profile updated" };
      },
      {
        body: Profile,
        response: { 200: Message, 400: Message, 412: EmptyObject },
        detail: { operationId: "updateProfile", summary: "Update the authenticated user's profile", description: "At least one of the two names." },
      },
    );
