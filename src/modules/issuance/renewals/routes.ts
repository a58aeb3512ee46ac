import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag } from "#http/etag";
import { page, readCursor, TIME_PART, UUID_PART } from "#http/pagination";
import { isFailure, jsonText, respond } from "#http/respond";
import { Conflict, Message, Moment, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { CertificateRequest } from "#modules/issuance/requests/schema/requests";
import { listRenewals } from "./queries/list";
import { Renew, Renewal, State } from "./schema";
import { renewNow } from "./services/renew-now";

const NO_CERTIFICATE = "There is no such certificate in this organization.";
const FILTERS = {
  state: t.Optional({ ...State, description: "Only renewals in this state; by default all but those that are renewed or have ended" }),
  late: t.Optional(t.Boolean({ description: "true: only what is late" })),
  issuerId: t.Optional(Uuid),
  dueBefore: t.Optional(Moment({ description: "Only what is to be renewed before this moment" })),
};

export const renewals = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId", tags: ["Issuance"] })
    .use(inOrganization(deps))
    .get(
      "/renewals",
      async ({ scope, query: { limit, cursor, ...filter } }) => {
        const list = () => listRenewals(deps.sql, scope.organizationId, filter, { limit, after: readCursor(cursor, TIME_PART, UUID_PART) });
        const mayReadMany = Object.values(filter).filter((each) => each !== undefined).length > 1;
        return page(await (mayReadMany ? deps.lanes.run(scope.organizationId, list) : list()), limit);
      },
      {
        params: t.Object({ organizationId: Uuid }),
        query: t.Object({ ...PageQuery, ...FILTERS }),
        response: { 200: Page(Renewal), 400: Message },
        detail: {
          operationId: "listRenewals",
          summary: "List renewals",
          description: "The certificates that issuers look after: what is due when, what is late, and why. What is to be renewed first comes first.",
        },
      },
    )
    .post(
      "/certificates/:certificateId/renew",
      async ({ scope, params: { certificateId }, body }) => {
        const renewed = await renewNow(deps, scope, certificateId, body ?? {});
        if (isFailure(renewed)) return respond(renewed, NO_CERTIFICATE);
        const location = `/organizations/${scope.organizationId}/certificate-requests/${renewed.id}`;
        return jsonText(renewed.json, 202, { etag: etag(renewed.version), location });
      },
      {
        params: t.Object({ organizationId: Uuid, certificateId: PathId }),
        body: t.Optional(Renew),
        response: { 202: CertificateRequest, 400: Message, 404: NotFound(NO_CERTIFICATE), 409: Conflict },
        detail: {
          operationId: "renewCertificate",
          summary: "Renew a certificate now",
          description:
            "Orders its successor, which then follows it on its hosts. With issuerId, a certificate that was imported or is another issuer's comes to this issuer, which renews it from then on. 409 while a renewal is open, once it has a successor, and where no issuer looks after it and none is named.",
        },
      },
    );
