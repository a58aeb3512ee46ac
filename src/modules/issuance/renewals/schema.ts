import { t } from "elysia";
import { Answer, Body, BodyId, CertificateId, DateTime, Integer, Nullable, OneOf, OrganizationId, UpdatedAt, Uuid } from "#http/schema";
import { KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";
import { KEY_LOCATIONS } from "#modules/issuance/issuing/rules/policy";
import { STATES } from "./rules/next";

const EXAMPLE_ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

export const State = OneOf(STATES, {
  description:
    "scheduled until it is ordered; ordered while a certificate request is open; failed until it is ordered again; issued until a rotation brings the successor to the hosts; then renewed. ended: nothing renews it any more",
  examples: ["scheduled"],
});

const Window = Answer(
  {
    start: { ...DateTime, description: "From then on it may be renewed" },
    end: { ...DateTime, description: "By then it should be" },
    explanationUrl: Nullable(t.String({ description: "Why, for people", examples: ["https://ca.certitude.example/incidents/7"] })),
  },
  { title: "RenewalWindow", description: "When the CA wants it renewed (RFC 9773)" },
);

export const Renewal = Answer(
  {
    certificateId: CertificateId,
    organizationId: OrganizationId,
    commonName: t.String({ description: "The certificate's", examples: ["www.certitude.example"] }),
    notAfter: { ...DateTime, description: "When the certificate ends" },
    issuerId: { ...Uuid, description: "Who is asked for the next one" },
    state: State,
    renewAt: {
      ...DateTime,
      description: "Two thirds of the lifetime, somewhat spread; earlier where the CA or the certificate request says so; at once when it is revoked",
    },
    lateAt: { ...DateTime, description: "From then on it is late: the CA's window has ended, or half of what was left at renewAt has passed" },
    lateSince: Nullable({ ...DateTime, description: "When it was first seen to be late" }),
    window: Nullable(Window),
    failures: Integer({ minimum: 0, description: "Certificate requests in a row that failed", examples: [0] }),
    reason: Nullable(
      t.String({ description: "Why it failed or has ended, or what the certificate request waits for", examples: ["It waits for the agent's key."] }),
    ),
    nextAttemptAt: Nullable({ ...DateTime, description: "After a failure" }),
    requestId: Nullable({ ...Uuid, description: "The last certificate request that is to renew it" }),
    successorId: Nullable({ ...Uuid, description: "The certificate that was issued in its place" }),
    updatedAt: UpdatedAt,
  },
  { title: "Renewal" },
);

export const Renew = Body(
  {
    issuerId: t.Optional(BodyId({ description: "In place of the one that looks after the certificate; needed where none does", examples: [EXAMPLE_ID] })),
    key: t.Optional(
      Body(
        {
          location: t.Optional(
            OneOf(KEY_LOCATIONS, {
              description: "In place of where the key was; csr only with the CSR that the certificate was issued for",
              examples: ["agent"],
            }),
          ),
          algorithm: t.Optional(OneOf(KEY_ALGORITHMS, { description: "In place of what the key was", examples: ["ecdsa-p256"] })),
        },
        { title: "RenewedKey", description: "What is to differ from the key before" },
      ),
    ),
    reuseKey: t.Optional(t.Boolean({ default: false, description: "The next certificate has the same key, which must be stored here; by default it is new" })),
  },
  { title: "RenewCertificate" },
);
export type Renew = typeof Renew.static;
