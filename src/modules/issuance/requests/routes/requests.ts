import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag, ifMatch } from "#http/etag";
import { unlessForbidden } from "#http/forbidden";
import { page, pageBefore } from "#http/pagination";
import { isFailure, jsonText, respond } from "#http/respond";
import { Conflict, EmptyObject, Message, NotFound, OneOf, Page, PageQuery, PathId, Text, Uuid } from "#http/schema";
import { readName } from "#modules/issuance/issuing/rules/names";
import { cancelRequest, decideRequest } from "../queries/end";
import { findRequest, listRequests } from "../queries/requests";
import { CertificateRequest, CertificateRequestWithSteps, NewCertificateRequest, RefuseRequest, STATUSES } from "../schema/requests";
import { createRequest, readNewRequest } from "../services/create";

const NO_REQUEST = "There is no such certificate request in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneRequest = t.Object({ organizationId: Uuid, requestId: PathId });
const FILTERED = { status: t.Optional(OneOf(STATUSES, { description: "Only requests in this state" })), issuerId: t.Optional(Uuid) };

export const certificateRequests = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certificate-requests", tags: ["Issuance"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body }) => {
        const asked = readNewRequest(body, deps.clock());
        if ("invalid" in asked) return respond(asked);
        const created = await createRequest(deps.sql, deps.stamps, scope, asked);
        if (isFailure(created)) return respond(created);
        const location = `/organizations/${scope.organizationId}/certificate-requests/${created.id}`;
        return jsonText(created.json, 202, { etag: etag(created.version), location });
      },
      {
        params: InOrganization,
        body: NewCertificateRequest,
        response: { 202: CertificateRequest, 400: Message, 404: Message, 409: Conflict },
        detail: {
          operationId: "createCertificateRequest",
          summary: "Order a certificate",
          description:
            "It is proven, issued and stored in the background: GET the Location for what happened. 409 while one is open for the same names at the same issuer (and, with keys on hosts, on the same host).",
        },
      },
    )
    .get(
      "",
      async ({ scope, query: { limit, cursor, name, ...filter } }) => {
        const read = name === undefined ? undefined : readName(name);
        if (read && "fault" in read) return respond({ invalid: `query.name ${read.fault}.` });
        const list = () => listRequests(deps.sql, scope.organizationId, { ...filter, name: read?.value }, pageBefore({ limit, cursor }));
        const mayReadMany = [filter.status, filter.issuerId, name].filter((each) => each !== undefined).length > 1;
        return page(await (mayReadMany ? deps.lanes.run(scope.organizationId, list) : list()), limit);
      },
      {
        params: InOrganization,
        query: t.Object({ ...PageQuery, ...FILTERED, name: t.Optional(Text({ max: 300, description: "Only requests for exactly this name, among others" })) }),
        response: { 200: Page(CertificateRequest), 400: Message },
        detail: { operationId: "listCertificateRequests", summary: "List certificate requests", description: "Newest first." },
      },
    )
    .get("/:requestId", async ({ scope, params }) => respond(await findRequest(deps.sql, scope.organizationId, params.requestId), NO_REQUEST), {
      params: OneRequest,
      response: { 200: CertificateRequestWithSteps, 400: Message, 404: NotFound(NO_REQUEST) },
      detail: { operationId: "getCertificateRequest", summary: "Get one certificate request", description: "With every step and its reason." },
    })
    .post(
      "/:requestId/cancel",
      async ({ scope, params, request }) =>
        respond(unlessForbidden(await cancelRequest(deps.sql, scope, { id: params.requestId, versions: ifMatch(request.headers) })), NO_REQUEST),
      {
        params: OneRequest,
        response: { 200: CertificateRequest, 400: Message, 404: NotFound(NO_REQUEST), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "cancelCertificateRequest",
          summary: "Cancel a certificate request",
          description:
            "409 when it has ended. What the issuer issues in the same moment is not stored. Where it renews a certificate, nothing does so any more until its renewal is ordered again.",
        },
      },
    )
    .post(
      "/:requestId/approve",
      async ({ scope, params, request }) => {
        const target = { id: params.requestId, versions: ifMatch(request.headers) };
        return respond(unlessForbidden(await decideRequest(deps.sql, deps.stamps, scope, target, { isApproved: true, reason: "" })), NO_REQUEST);
      },
      {
        params: OneRequest,
        response: { 200: CertificateRequest, 400: Message, 404: NotFound(NO_REQUEST), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "approveCertificateRequest",
          summary: "Approve a certificate request",
          description:
            "Needs the token of a user other than its author, or than the user behind the author's API token: else 403. Where no user is known to have ordered it, as with a gateway's headers alone, it takes two users: the first counts as its author, and it waits on. 409 unless it waits for an approval.",
        },
      },
    )
    .post(
      "/:requestId/refuse",
      async ({ scope, params, body, request }) => {
        const target = { id: params.requestId, versions: ifMatch(request.headers) };
        return respond(unlessForbidden(await decideRequest(deps.sql, deps.stamps, scope, target, { isApproved: false, reason: body.reason })), NO_REQUEST);
      },
      {
        params: OneRequest,
        body: RefuseRequest,
        response: { 200: CertificateRequest, 400: Message, 404: NotFound(NO_REQUEST), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "refuseCertificateRequest",
          summary: "Refuse a certificate request",
          description:
            "By whom it may be approved. It is cancelled, and where it renews a certificate, nothing does so any more until its renewal is ordered again.",
        },
      },
    );
