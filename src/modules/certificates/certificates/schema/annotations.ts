import { t } from "elysia";
import { Body, Email, Nullable, Text, Uuid } from "#http/schema";
import { Labels } from "#labels/schema";
import { EXAMPLE_ANNOTATIONS } from "./example";

const NOTES = { description: "What the next person who handles it must know", examples: [EXAMPLE_ANNOTATIONS.notes] };
const LABELS = { examples: [EXAMPLE_ANNOTATIONS.labels] };
const CONTACTS = { description: "E-mail addresses, lower-case", examples: [EXAMPLE_ANNOTATIONS.contacts] };

/** People's notes on a certificate, in answers. */
export const annotations = {
  ownerId: Nullable({ ...Uuid, description: "The user who answers for it. An owner who leaves the organization stays named, and counts as none" }),
  contacts: t.Array(t.String(), CONTACTS),
  labels: t.Record(t.String(), t.String(), { ...LABELS, description: "Keys and values that selectors look for" }),
  notes: Nullable(t.String(NOTES)),
};

export const CertificatePatch = Body(
  {
    ownerId: t.Optional(Nullable({ ...Uuid, description: "The user id of an active member" })),
    contacts: t.Optional(t.Array(Email, { ...CONTACTS, maxItems: 20, description: "E-mail addresses, in place of all that were there" })),
    labels: t.Optional({ ...Labels, ...LABELS, description: "In place of all that were there" }),
    notes: t.Optional(Nullable(Text({ ...NOTES, max: 2_000 }))),
  },
  { title: "CertificatePatch", minProperties: 1 },
);
export type CertificatePatch = typeof CertificatePatch.static;
