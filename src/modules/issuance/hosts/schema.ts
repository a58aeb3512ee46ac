import { t } from "elysia";
import { Answer, Body, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { MaterialType, TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { KEY_ALGORITHMS } from "#modules/issuance/requests/rules/policy";

const Name = Answer(
  { type: OneOf(["dns", "ip"], { examples: ["dns"] }), value: t.String({ examples: ["www.certitude.example"] }) },
  { title: "RequestedName" },
);

const KeyPlace = Answer(
  {
    id: { ...Uuid, description: "The assignment that the certificate is for; it is made with the certificate where there is none yet" },
    trustStoreType: TrustStoreType,
    materialType: MaterialType,
    config: AssignmentConfig,
  },
  { title: "KeyPlace" },
);

export const KeyRequest = Answer(
  {
    requestId: Uuid,
    algorithm: OneOf(KEY_ALGORITHMS, { examples: ["ecdsa-p256"] }),
    commonName: Nullable(t.String({ description: "The subject's only attribute; null: an empty subject", examples: ["www.certitude.example"] })),
    names: t.Array(Name, { description: "The subject alternative names, all of them" }),
    hasCsr: t.Boolean({ description: "Whether the signing request was kept: the key stays where it is until its certificate comes" }),
    assignment: KeyPlace,
  },
  { title: "KeyRequest" },
);
export type KeyRequest = typeof KeyRequest.static;

export const Csr = Body(
  { csrPem: Text({ max: 64_000, description: "PKCS #10, signed with the key that it is about", examples: ["-----BEGIN CERTIFICATE REQUEST-----\n…"] }) },
  { title: "HostCsr" },
);

export const KeyFault = Body(
  {
    state: OneOf(["failed", "refused"], { description: "refused: by the policy of the host", examples: ["refused"] }),
    message: Text({ max: 1_000, examples: ["The policy of this host does not permit its private key."] }),
  },
  { title: "HostKeyFault" },
);
