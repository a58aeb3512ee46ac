import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, PathId, Uuid } from "#http/schema";
import { INELIGIBLE, NO_CERTIFICATE } from "#modules/fleet/assignments/rules";
import { readRings } from "#modules/fleet/rollouts/rules";
import { cancelRotation, changeRetirement, findRotation, startRotation, type Unsuited } from "./queries";
import { NewRotation, Rotation, RotationPatch } from "./schema";

const NO_ROTATION = "There is no such certificate in this organization, or it never had a successor.";
const OneCertificate = t.Object({ organizationId: Uuid, certificateId: PathId });

const UNSUITED: Record<Unsuited, string> = {
  ...INELIGIBLE,
  "not active": "body.certificateId must name a certificate that is neither expired, revoked nor retired.",
  "no authority": "body.certificateId must name a CA certificate, or a self-signed one, because the other one is a trust anchor or intermediate somewhere.",
  "no key": "body.certificateId must name a certificate whose private key is stored here, because an assignment of the other one includes it.",
  itself: "body.certificateId must name another certificate than the path.",
  circle: "body.certificateId must not name a certificate that the one in the path is a successor of.",
};

export const rotations = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/certificates/:certificateId/successor", tags: ["Certificates"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, params, body }) => {
        const { rings = [], haltShare = 0.1, successShare = 1, retire } = body;
        const read = readRings([...rings, {}]);
        if ("invalid" in read) return respond(read);
        const certificates = { certificateId: params.certificateId, successorId: body.certificateId };
        const started = await startRotation(
          deps.sql,
          deps.stamps,
          scope,
          { ...certificates, rings: read.rings, retire, haltShare, successShare },
          deps.clock(),
        );
        if (started === "conflict") return respond(started);
        if (started === "no certificate") return respond({ missing: NO_CERTIFICATE });
        if (typeof started === "string") return respond({ invalid: UNSUITED[started] });
        return respondCreated(started, `/organizations/${scope.organizationId}/certificates/${certificates.certificateId.toLowerCase()}/successor`);
      },
      {
        params: OneCertificate,
        body: NewRotation,
        response: { 201: Rotation, 400: Message, 404: Message, 409: EmptyObject },
        detail: {
          operationId: "startRotation",
          summary: "Give a certificate its successor",
          description:
            "Wherever the certificate is a trust anchor or intermediate, the successor comes beside it; any other assignment with autoRenew changes to the successor. 409 when the certificate is not active or has a successor already.",
        },
      },
    )
    .get("", async ({ scope, params }) => respond(await findRotation(deps.sql, scope.organizationId, params.certificateId), NO_ROTATION), {
      params: OneCertificate,
      response: { 200: Rotation, 400: Message, 404: NotFound(NO_ROTATION) },
      detail: {
        operationId: "getRotation",
        summary: "How far a certificate's successor is",
        description: "A cancelled rotation shows until there is another.",
      },
    })
    .patch(
      "",
      async ({ scope, params, body, request }) =>
        respond(await changeRetirement(deps.sql, deps.stamps, scope, targetOf(params, request), body.retire), NO_ROTATION),
      {
        params: OneCertificate,
        body: RotationPatch,
        response: { 200: Rotation, 400: Message, 404: NotFound(NO_ROTATION), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateRotation",
          summary: "Change when a certificate is retired",
          description: "409 once it is retired, or its rotation cancelled.",
        },
      },
    )
    .delete("", async ({ scope, params, request }) => respond(await cancelRotation(deps.sql, deps.stamps, scope, targetOf(params, request)), NO_ROTATION), {
      params: OneCertificate,
      response: { 204: Empty, 400: Message, 404: NotFound(NO_ROTATION), 409: Conflict, 412: EmptyObject },
      detail: {
        operationId: "cancelRotation",
        summary: "Cancel a rotation",
        description: "What the successor got beside the certificate goes, and what changed to it changes back. 409 once it is retired or cancelled.",
      },
    });

const targetOf = ({ certificateId }: { certificateId: string }, { headers }: Request) => ({ id: certificateId, versions: ifMatch(headers) });
