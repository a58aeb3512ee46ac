import { t } from "elysia";
import { Answer, CertificateId, DateTime, Integer, Nullable, OneOf } from "#http/schema";
import { Bucket, CommonName, Count, Name } from "./parts";

const days = {
  certificateId: CertificateId,
  commonName: CommonName,
  expiresAt: { ...DateTime, description: "When it ends" },
  daysRemaining: Integer({ description: "Whole days left" }),
};

export const ExpiringCertificatesTimeline = Answer(
  {
    bucket: Bucket,
    expired: Nullable(Integer({ minimum: 0, description: "How many have expired already; null where the settings leave them out" })),
    buckets: t.Array(Answer({ start: { ...DateTime, description: "The step's first moment" }, count: Count("certificates end in it") }), {
      description: "The earliest first",
    }),
  },
  { title: "ExpiringCertificatesTimelineData" },
);

export const TopExpiringCertificates = Answer(
  {
    items: t.Array(Answer({ ...days, severity: OneOf(["critical", "warning", "ok"], { description: "By the days of the settings" }) }), {
      description: "The soonest first",
    }),
  },
  { title: "TopExpiringCertificatesData" },
);

export const CertificatesByIssuer = Answer(
  {
    total: Count("certificates"),
    issuers: t.Array(Answer({ issuer: t.String({ description: "RFC 4514" }), count: Count("certificates it has issued") }), {
      description: "The largest first",
    }),
    others: Nullable(Integer({ minimum: 0, description: "How many all the others have issued; null where the settings leave them out" })),
  },
  { title: "CertificatesByIssuerData" },
);

export const KeyAlgorithmDistribution = Answer(
  {
    total: Count("certificates"),
    algorithms: t.Array(
      Answer({
        name: Name("the algorithm"),
        size: Nullable(Integer({ description: "Bits" })),
        curve: Nullable(t.String({ description: "Of an elliptic curve key" })),
        count: Count("certificates have such a key"),
        isWeak: Nullable(t.Boolean({ description: "Whether it is below today's measure; null where the settings leave that out" })),
      }),
      { description: "The most frequent first" },
    ),
  },
  { title: "KeyAlgorithmDistributionData" },
);
