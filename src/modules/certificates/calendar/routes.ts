import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { Refusal } from "#http/errors";
import { matchesNone } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createCalendarLink, findLinkedOrganization, listCalendarLinks, listExpiries, revokeCalendarLink } from "./queries";
import { hashCalendarKey, newCalendarKey, tagOf, writeCalendar } from "./rules";
import { CalendarLink, CreateCalendarLink, NewCalendarLink } from "./schema";

const NO_LINK = "There is no such calendar link in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });

export const calendarLinks = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certificates/calendar-links", tags: ["Certificates"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { name }, request }) => {
        const key = newCalendarKey();
        const created = await createCalendarLink(deps.sql, scope, { name, keyHash: hashCalendarKey(key) });
        if (created === "conflict") return respond(created);
        const base = deps.config.publicUrl ?? new URL(request.url).origin;
        const url = `${base.replace(/\/$/, "")}/organizations/${scope.organizationId}/certificates.ics?key=${key}`;
        return jsonText(`${created.json.slice(0, -1)}, "url": ${JSON.stringify(url)}}`, 201, { "cache-control": "no-store" });
      },
      {
        params: InOrganization,
        body: CreateCalendarLink,
        response: { 201: NewCalendarLink, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "createCalendarLink",
          summary: "Make a link to the calendar of expiries",
          description: "Its address is shown this once, for a calendar program to subscribe to. It holds until it is revoked. 409 when there are a hundred.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listCalendarLinks(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      role: "ORG_ADMIN",
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(CalendarLink), 400: Message },
      detail: { operationId: "listCalendarLinks", summary: "List calendar links", description: "Newest first; never their address. For ORG_ADMIN." },
    })
    .delete("/:calendarLinkId", async ({ scope, params }) => respond(await revokeCalendarLink(deps.sql, scope, params.calendarLinkId), NO_LINK), {
      params: t.Object({ organizationId: Uuid, calendarLinkId: PathId }, { noValidate: true }),
      response: { 204: Empty, 404: NotFound(NO_LINK) },
      detail: { operationId: "deleteCalendarLink", summary: "Revoke a calendar link", description: "It is refused from now on, on every server." },
    });

const HEADERS = { "content-type": "text/calendar; charset=utf-8", "cache-control": "private, max-age=300", "x-content-type-options": "nosniff" };

/** The calendar of a calendar link. The link is the permission: no credential is asked for. */
export const calendar = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId", tags: ["Certificates"] }).get(
    "/certificates.ics",
    async ({ params: { organizationId }, query: { key }, request }) => {
      const name = await findLinkedOrganization(deps.sql, organizationId, hashCalendarKey(String(key)));
      if (name === undefined) throw new Refusal(403, "This link is not valid.");
      const expiries = await deps.lanes.run(organizationId, () => listExpiries(deps.sql, organizationId, deps.clock()));
      const text = writeCalendar(`Certificates of ${name}`, expiries);
      const etag = tagOf(text);
      if (matchesNone(request.headers, etag)) return new Response(null, { status: 304, headers: { ...HEADERS, etag } }) as never;
      return new Response(text, { headers: { ...HEADERS, etag } }) as never;
    },
    {
      params: t.Object({ organizationId: PathId }),
      query: t.Object(
        { key: t.String({ maxLength: 100, description: "What the link carries", examples: ["cal_uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"] }) },
        { noValidate: true }, // a stranger learns only that the link is not valid
      ),
      response: {
        200: t.String({
          description: "An iCalendar object (RFC 5545)",
          contentMediaType: "text/calendar",
          examples: ["BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Certitude//Certificates//EN\r\nEND:VCALENDAR\r\n"],
          noValidate: true,
        }),
        304: t.Literal("", { noValidate: true }),
        400: Message,
        403: Message,
      },
      detail: {
        operationId: "getCalendar",
        summary: "Read the calendar of expiries",
        description: "By a calendar link. Active certificates that expire within 400 days and are not renewed, the soonest first, 5,000 at most.",
      },
    },
  );
