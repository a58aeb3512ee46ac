import { t } from "elysia";
import { Answer, Body, BodyId, CreatedAt, DateTime, Integer, Nullable, OneOf, OrganizationId, UpdatedAt, Uuid, Version } from "#http/schema";
import { limits, rings, Share } from "#modules/fleet/rollouts/schema";

const YEAR = 31_536_000;

const Retirement = Body(
  {
    share: Share("How much of the total must have observed the successor", [1]),
    holdSeconds: Integer({ minimum: 0, maximum: YEAR, description: "For how long without a break", examples: [86_400] }),
  },
  { title: "Retirement", description: "When the server retires the certificate by itself" },
);
export type Retirement = typeof Retirement.static;

export const NewRotation = Body(
  {
    certificateId: BodyId({ description: "The successor", examples: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c03"] }),
    retire: t.Optional(Retirement),
    rings: t.Optional({ ...rings, description: "Without any, all agents at once; agents in none of them follow in a ring of their own" }),
    ...limits,
  },
  { title: "NewRotation" },
);
export type NewRotation = typeof NewRotation.static;

export const RotationPatch = Body(
  { retire: { ...Nullable(Retirement), description: "Null: only when asked", examples: [{ share: 1, holdSeconds: 86_400 }] } },
  { title: "RotationPatch" },
);

const Count = (description: string, example: number) => Integer({ minimum: 0, description, examples: [example] });

export const Rotation = Answer(
  {
    id: { ...Uuid, description: "Its rollout, which has the rings, has the same id" },
    organizationId: OrganizationId,
    certificateId: t.String({ description: "The certificate whose place is taken" }),
    successorId: t.String({ description: "The certificate that takes its place" }),
    status: OneOf(["overlapping", "halted", "retired", "cancelled"], { description: "retired: the certificate is retired or revoked" }),
    total: Count("Enabled assignments of the certificate, and those that the successor has in their place or beside them", 20),
    observed: Count("Those of the successor that an agent has seen in the store", 12),
    failed: Count("Those of the successor that failed since their last change", 1),
    skipped: Count("Those of the certificate that the successor does not reach", 0),
    share: Nullable(t.Number({ description: "observed / total; null while the total is 0", examples: [0.6] })),
    retire: Nullable(Retirement),
    reachedAt: Nullable({ ...DateTime, description: "Since when the share of `retire` is reached" }),
    retiredAt: Nullable({ ...DateTime, description: "When the certificate was retired" }),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "Rotation" },
);
