import { Elysia, t } from "elysia";
import type { Deps } from "../../deps";
import { platformStaff } from "../../guards/platform-staff";
import { jsonText, page, readCursor, UUID_PART } from "../../http/page";
import { Answer, Body, DateTime, Integer, Message, Nullable, Page, PageQuery, Text, Uuid } from "../../http/schema";
import { createOrganization, listOrganizations } from "./queries";

const Organization = Answer(
  { id: Uuid, name: t.String({ examples: ["Example Ltd"] }), seatLimit: Nullable(Integer({ examples: [50] })), createdAt: DateTime },
  { title: "Organization" },
);
const NewOrganization = Body(
  {
    name: Text({ examples: ["Example Ltd"] }),
    seatLimit: t.Optional(Integer({ minimum: 1, maximum: 1_000_000, description: "How many members it may have; no limit when absent", examples: [50] })),
  },
  { title: "NewOrganization" },
);

export const organizations = (deps: Deps) =>
  new Elysia({ prefix: "/admin/organizations", tags: ["Platform staff"] })
    .use(platformStaff(deps))
    .post(
      "",
      async ({ caller, body, set }) => {
        const by = { actor: { type: "user" as const, id: caller.userId }, requestId: String(set.headers["x-request-id"]) };
        return jsonText((await createOrganization(deps.sql, body, by)) ?? "", 201);
      },
      {
        body: NewOrganization,
        response: { 201: Organization, 400: Message },
        detail: { operationId: "createOrganization", summary: "Create an organization" },
      },
    )
    .get(
      "",
      async ({ query }) => page(await listOrganizations(deps.sql, { limit: query.limit, before: readCursor(query.cursor, UUID_PART)?.[0] }), query.limit),
      {
        query: t.Object(PageQuery),
        response: { 200: Page(Organization), 400: Message },
        detail: { operationId: "listOrganizations", summary: "List organizations", description: "Newest first." },
      },
    );
