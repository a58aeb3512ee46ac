import { Elysia, status, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag, ifMatch } from "#http/etag";
import { jsonText } from "#http/respond";
import { Empty, EmptyObject, Message, Uuid, uuidOrNil } from "#http/schema";
import { INELIGIBLE } from "#modules/fleet/assignments/rules";
import { readRings } from "#modules/fleet/rollouts/rules";
import { cancelRotation, changeRetirement, findRotation, startRotation, type Unsuited } from "./queries";
import { NewRotation, Rotation, RotationPatch } from "./schema";

const NO_CERTIFICATE = { message: "There is no such certificate in this organization." };
const NotFound = { message: "There is no such certificate in this organization, or it never had a successor." };
const OneCertificate = t.Object({ organizationId: Uuid, certificateId: t.String() });

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
        if ("fault" in read) return status(400, { message: read.fault });
        const certificates = { certificateId: uuidOrNil(params.certificateId), successorId: uuidOrNil(body.certificateId) };
        const started = await startRotation(deps.sql, scope, { ...certificates, rings: read.rings, retire, haltShare, successShare }, deps.clock());
        if (started === "conflict") return status(409, {});
        if (started === "no certificate") return status(404, NO_CERTIFICATE);
        if (typeof started === "string") return status(400, { message: UNSUITED[started] });
        const location = `/organizations/${scope.organizationId}/certificates/${certificates.certificateId.toLowerCase()}/successor`;
        return jsonText(started.json, 201, { etag: etag(started.version), location });
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
    .get(
      "",
      async ({ scope, params }) => {
        const found = await findRotation(deps.sql, scope.organizationId, uuidOrNil(params.certificateId));
        return found ? jsonText(found.json, 200, { etag: etag(found.version) }) : status(404, NotFound);
      },
      {
        params: OneCertificate,
        response: { 200: Rotation, 400: Message, 404: Message },
        detail: {
          operationId: "getRotation",
          summary: "How far a certificate's successor is",
          description: "A cancelled rotation shows until there is another.",
        },
      },
    )
    .patch(
      "",
      async ({ scope, params, body, request }) => {
        const changed = await changeRetirement(deps.sql, scope, targetOf(params, request), body.retire);
        return typeof changed === "string" ? refuse(changed) : jsonText(changed.json, 200, { etag: etag(changed.version) });
      },
      {
        params: OneCertificate,
        body: RotationPatch,
        response: { 200: Rotation, 400: Message, 404: Message, 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "updateRotation",
          summary: "Change when a certificate is retired",
          description: "409 once it is retired, or its rotation cancelled.",
        },
      },
    )
    .delete(
      "",
      async ({ scope, params, request }) => {
        const cancelled = await cancelRotation(deps.sql, scope, targetOf(params, request));
        return typeof cancelled === "string" ? refuse(cancelled) : status(204, "");
      },
      {
        params: OneCertificate,
        response: { 204: Empty, 400: Message, 404: Message, 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "cancelRotation",
          summary: "Cancel a rotation",
          description: "What the successor got beside the certificate goes, and what changed to it changes back. 409 once it is retired or cancelled.",
        },
      },
    );

const targetOf = ({ certificateId }: { certificateId: string }, { headers }: Request) => ({
  certificateId: uuidOrNil(certificateId),
  versions: ifMatch(headers),
});

function refuse(outcome: "missing" | "stale" | "conflict") {
  if (outcome === "missing") return status(404, NotFound);
  return outcome === "stale" ? status(412, {}) : status(409, {});
}
