import { t } from "elysia";
import { Answer, CreatedAt, Id, Integer, Nullable, OrganizationId } from "#http/schema";
import { Actor } from "#modules/people/audit/schema";

const PublicKey = t.String({ description: "Ed25519, the base64url of its 32 bytes", examples: ["3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] });
const Endorsement = t.String({ description: "The signature of the generation before, in base64", examples: ["c2lnbmVk"] });

export const SigningKey = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    generation: Integer({ minimum: 1, description: "Counts the keys of the organization; the greatest signs now" }),
    publicKey: PublicKey,
    endorsement: Nullable({ ...Endorsement, description: "The signature of the generation before, in base64; none of the first" }),
    createdBy: Actor,
    createdAt: CreatedAt,
  },
  { title: "SigningKey" },
);

export const SuccessorQuery = t.Object({
  of: t.String({ pattern: "^[A-Za-z0-9_-]{43}$", description: "must be the public key that the agent trusts, 43 characters of base64url" }),
});

export const Successors = Answer(
  {
    items: t.Array(Answer({ publicKey: PublicKey, endorsement: Endorsement }, { title: "Successor" }), {
      description: "The oldest first, the last one signs now",
    }),
  },
  { title: "Successors" },
);
