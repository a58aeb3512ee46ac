import { t } from "elysia";
import { Answer, CertificateId, CreatedAt, DateTime, Id, Integer, Nullable, OneOf, OrganizationId, UpdatedAt, Uuid } from "#http/schema";

export const State = OneOf(["pending", "failing", "told", "expired"], {
  description:
    "pending until the CA is asked; failing while it is asked again; told once it has revoked the certificate; expired where that came first, so that nothing is left to revoke",
  examples: ["told"],
});

export const Revocation = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    certificateId: CertificateId,
    commonName: t.String({ description: "The certificate's", examples: ["www.certitude.example"] }),
    issuerId: { ...Uuid, description: "The issuer whose CA is asked" },
    reason: t.String({ description: "As the certificate was revoked here", examples: ["keyCompromise"] }),
    state: State,
    attempts: Integer({ minimum: 0, description: "In a row that failed", examples: [0] }),
    failure: Nullable(t.String({ description: "Why the last attempt failed", examples: ["The CA could not be asked."] })),
    nextAttemptAt: Nullable({ ...DateTime, description: "Until the CA has revoked it, or it has expired" }),
    toldAt: Nullable({ ...DateTime, description: "When the CA confirmed it" }),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "Revocation" },
);
