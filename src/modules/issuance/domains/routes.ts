import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { platformStaff } from "#guards/platform-staff";
import { requestId } from "#http/exchange";
import { page, readCursor } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Message, Page, PageQuery } from "#http/schema";
import { readName } from "#modules/issuance/issuing/rules/names";
import { listDomains, putDomain } from "./queries";
import { domainOf } from "./rules";
import { Domain, PutDomain } from "./schema";

const DOMAIN_PART = /^[^\0]{1,253}$/;

/** Which organization has which domain, for the platform's staff. */
export const domains = (deps: Deps) =>
  new Elysia({ prefix: "/admin/domains", tags: ["Platform staff"] })
    .use(platformStaff(deps))
    .get("", async ({ query: { limit, cursor } }) => page(await listDomains(deps.sql, { limit, after: readCursor(cursor, DOMAIN_PART)?.[0] }), limit), {
      query: t.Object(PageQuery),
      response: { 200: Page(Domain), 400: Message },
      detail: { operationId: "listDomains", summary: "List the domains that organizations have", description: "In the order of the alphabet." },
    })
    .put(
      "/:domain",
      async ({ caller, params, body: { organizationId }, request }) => {
        const name = readName(params.domain);
        if ("fault" in name) return respond({ invalid: `path.domain ${name.fault}.` });
        const domain = domainOf(name.value);
        if (domain !== name.value) return respond({ invalid: `path.domain must be a registered domain: ${domain}.` });
        if (organizationId !== null && !(await deps.organizationExists(organizationId))) return respond({ missing: "There is no such organization." });
        const act = { actor: { type: "user" as const, id: caller.userId }, requestId: requestId(request) };
        return jsonText(await putDomain(deps.sql, act, domain, organizationId));
      },
      {
        params: t.Object({ domain: t.String({ description: "A registered domain, such as certitude.example, or an address" }) }),
        body: PutDomain,
        response: { 200: Domain, 400: Message, 404: Message },
        detail: {
          operationId: "putDomain",
          summary: "Decide which organization has a domain",
          description:
            "It alone proves names of the domain by http-01 at this server; null lets any organization do so, but for names of the server itself and addresses, which only an organization that is named here proves over HTTP where the server has several. No certificate changes that.",
        },
      },
    );
