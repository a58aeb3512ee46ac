import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { reader } from "#guards/reader";
import { ifMatch } from "#http/etag";
import { page, readCursor, TIME_PART, UUID_PART } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Answer, Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, QueryInteger, Uuid } from "#http/schema";
import { findKeyFault } from "#labels/labels";
import { annotateCertificate } from "./queries/annotate";
import { findCertificate, listExpiring, reinstateCertificate, retireCertificate, revokeCertificate } from "./queries/certificates";
import { listDeployments } from "./queries/deployments";
import { findDetailsForMember } from "./queries/details";
import { listCertificates } from "./queries/list";
import { CertificatePatch } from "./schema/annotations";
import {
  Certificate,
  CertificateDetails,
  CertificateSummary,
  Deployment,
  ExpiringCertificate,
  ImportCertificates,
  ImportReport,
  MAX_BLOCKS,
  RevokeCertificate,
} from "./schema/certificates";
import { CertificateQuery, mayReadMany, readFilter } from "./schema/query";
import { importCertificates } from "./services/import";

const NO_CERTIFICATE = "There is no such certificate in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneCertificate = t.Object({ organizationId: Uuid, certificateId: PathId });

export const monitoring = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certs/monitoring", tags: ["Certificates"] })
    .use(inOrganization(deps))
    .get("/top-expiring", async ({ scope, query }) => jsonText(await listExpiring(deps.sql, scope.organizationId, query.limit, deps.clock())), {
      params: InOrganization,
      query: t.Object({ limit: QueryInteger({ minimum: 1, maximum: 50, default: 10 }) }),
      response: { 200: Answer({ items: t.Array(ExpiringCertificate, { description: "The soonest first" }) }), 400: Message },
      detail: { operationId: "listTopExpiringCertificates", summary: "Top expiring certificates", description: "Valid now, the soonest to expire first." },
    });

export const portal = (deps: Deps) =>
  new Elysia({ prefix: "/portal/organizations/:organizationId/certificates", tags: ["Portal"] }).use(reader(deps)).get(
    "/:certificateId",
    async ({ caller, params: { organizationId, certificateId } }) => {
      const details = await findDetailsForMember(deps.sql, organizationId, certificateId, caller, deps.clock());
      return details === undefined ? respond(details, NO_CERTIFICATE) : jsonText(details);
    },
    {
      params: t.Object({ organizationId: { ...PathId, format: "uuid" }, certificateId: PathId }),
      response: { 200: CertificateDetails, 404: NotFound(NO_CERTIFICATE) },
      detail: {
        operationId: "getCertificateDetails",
        summary: "Get certificate details",
        description: "For any member of the organization, and for its API tokens.",
      },
    },
  );

export const certificates = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certificates", tags: ["Certificates"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body, status }) => {
        const report = await importCertificates(deps.sql, { keyring: deps.config.keyring, stamps: deps.stamps }, scope, body);
        if ("invalid" in report) return respond(report);
        return report.imported.length > 0 ? status(201, report) : status(200, report);
      },
      {
        params: InOrganization,
        body: ImportCertificates,
        response: { 200: ImportReport, 201: ImportReport, 400: Message },
        detail: {
          operationId: "importCertificates",
          summary: "Import certificates",
          description: `201 when at least one is new, 200 when all were here before. A retired one becomes active again, a revoked one stays revoked. More than ${MAX_BLOCKS} PEM blocks are 400. Answered 503, it may have stored a part: send it again.`,
        },
      },
    )
    .get(
      "",
      async ({ scope, query: { limit, cursor, ...query } }) => {
        const filter = readFilter(query);
        if ("invalid" in filter) return respond(filter);
        const after = readCursor(cursor, TIME_PART, UUID_PART);
        const list = () => listCertificates(deps.sql, scope.organizationId, filter, { limit, after }, deps.clock());
        return page(await (mayReadMany(query) ? deps.lanes.run(scope.organizationId, list) : list()), limit);
      },
      {
        params: InOrganization,
        query: CertificateQuery,
        response: { 200: Page(CertificateSummary), 400: Message },
        detail: {
          operationId: "listCertificates",
          summary: "List certificates",
          description: "The soonest to expire first. The filters go together; send the same ones with a cursor.",
        },
      },
    )
    .get(
      "/:certificateId",
      async ({ scope, params }) => respond(await findCertificate(deps.sql, scope.organizationId, params.certificateId, deps.clock()), NO_CERTIFICATE),
      {
        params: OneCertificate,
        response: { 200: Certificate, 400: Message, 404: NotFound(NO_CERTIFICATE) },
        detail: { operationId: "getCertificate", summary: "Get one certificate" },
      },
    )
    .patch(
      "/:certificateId",
      async ({ scope, params, body: { contacts, ...rest }, request }) => {
        const invalid = findKeyFault("body.labels", Object.keys(rest.labels ?? {}));
        if (invalid !== undefined) return respond({ invalid });
        const patch = { ...rest, ...(contacts && { contacts: [...new Set(contacts.map((each) => each.toLowerCase()))] }) };
        const target = { id: params.certificateId, versions: ifMatch(request.headers) };
        return respond(await annotateCertificate(deps.sql, scope, target, patch, deps.clock()), NO_CERTIFICATE);
      },
      {
        params: OneCertificate,
        body: CertificatePatch,
        response: { 200: Certificate, 400: Message, 404: NotFound(NO_CERTIFICATE), 412: EmptyObject },
        detail: {
          operationId: "updateCertificate",
          summary: "Update a certificate's owner, contacts, labels or notes",
          description: "What is not named stays; contacts and labels are replaced as a whole. What it says already changes nothing.",
        },
      },
    )
    .get(
      "/:certificateId/deployments",
      async ({ scope: { organizationId }, params, query: { limit, cursor } }) => {
        const certificate = { organizationId, certificateId: params.certificateId };
        const rows = await listDeployments(deps.sql, { ...certificate, limit, after: readCursor(cursor, UUID_PART)?.[0] });
        return rows ? page(rows, limit) : respond(rows, NO_CERTIFICATE);
      },
      {
        params: OneCertificate,
        query: t.Object(PageQuery),
        response: { 200: Page(Deployment), 400: Message, 404: NotFound(NO_CERTIFICATE) },
        detail: {
          operationId: "listDeployments",
          summary: "List where a certificate is deployed",
          description: "Its assignments with what the agents last reported, the oldest assignment first.",
        },
      },
    )
    .post(
      "/:certificateId/revoke",
      async ({ scope, params, body, request }) => {
        const target = { id: params.certificateId, versions: ifMatch(request.headers) };
        return respond(await revokeCertificate(deps.sql, deps.stamps, scope, target, body.reason ?? "unspecified", deps.clock()), NO_CERTIFICATE);
      },
      {
        params: OneCertificate,
        body: RevokeCertificate,
        response: { 200: Certificate, 400: Message, 404: NotFound(NO_CERTIFICATE), 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "revokeCertificate",
          summary: "Revoke a certificate",
          description:
            "A retired one is revoked too, and stays retired. 409 when it is revoked already. A CA elsewhere that an issuer had it issued by revokes it too, in the background, but for certificateHold.",
        },
      },
    )
    .post(
      "/:certificateId/reinstate",
      async ({ scope, params, request }) => {
        const target = { id: params.certificateId, versions: ifMatch(request.headers) };
        return respond(await reinstateCertificate(deps.sql, deps.stamps, scope, target, deps.clock()), NO_CERTIFICATE);
      },
      {
        params: OneCertificate,
        response: { 200: Certificate, 400: Message, 404: NotFound(NO_CERTIFICATE), 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "reinstateCertificate",
          summary: "Reinstate a certificate that is on hold",
          description:
            "It is as it was before it was revoked with the reason certificateHold (RFC 5280); one that was retired since stays retired. 409 unless it is on hold.",
        },
      },
    )
    .delete(
      "/:certificateId",
      async ({ scope, params, request }) => {
        const retired = await retireCertificate(deps.sql, deps.stamps, scope, { id: params.certificateId, versions: ifMatch(request.headers) }, deps.clock());
        return respond(retired === "not found" || retired === "stale" ? retired : "done", NO_CERTIFICATE); // retiring twice changes nothing the second time
      },
      {
        params: OneCertificate,
        response: { 204: Empty, 404: NotFound(NO_CERTIFICATE), 412: EmptyObject },
        detail: {
          operationId: "retireCertificate",
          summary: "Retire a certificate",
          description: "It stays readable and leaves every list of valid certificates.",
        },
      },
    );
