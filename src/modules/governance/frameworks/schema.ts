import { Kind, Type, TypeRegistry } from "@sinclair/typebox";
import { t } from "elysia";
import { Answer, Body, DateTime, Integer, NextCursor, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { STATUSES as CERTIFICATE_STATUSES } from "#modules/certificates/certificates/schema/certificates";
import { Actor } from "#modules/people/audit/schema";
import { isUuid } from "#text/uuid";
import { CASES, FRAMEWORKS, ROLES, SCOPES } from "./rules/catalogue";
import { type ControlFilter, STATUSES } from "./rules/controls";

TypeRegistry.Set("WebAddress", (_, value) => typeof value === "string" && value.length <= 2_000 && isWebAddress(value));
TypeRegistry.Set("Day", (_, value) => typeof value === "string" && isDay(value));

function isWebAddress(text: string) {
  if (!/^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) || !text.isWellFormed()) return false;
  const url = URL.parse(text);
  return url !== null && url.username === "" && url.password === "";
}

function isDay(text: string) {
  const day = /^[1-9]\d{3}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return day !== undefined && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

const custom = (kind: string, schema: object) => Type.Unsafe<string>({ [Kind]: kind, type: "string", ...schema });
const WebAddress = custom("WebAddress", {
  maxLength: 2_000,
  description: "must be an address that starts with https:// or http://, without a password in it",
  examples: ["https://wiki.certitude.example/ai/oversight"],
});
const Day = custom("Day", { format: "date", description: "must be a day, such as 2030-01-31", examples: ["2030-01-31"] });

export const FrameworkKey = OneOf(FRAMEWORKS, { description: "euaiact: the EU AI Act; nist: the AI RMF; iso: ISO/IEC 42001", examples: ["euaiact"] });
const ControlStatus = OneOf(STATUSES, { description: "implemented needs evidence or a note, not_applicable a note", examples: ["implemented"] });

const catalogueControl = {
  id: { ...Uuid, description: "The same on every server" },
  ref: t.String({ description: "Where the framework says it", examples: ["Art. 14"] }),
  title: t.String({ description: "What it is called there, or in short", examples: ["Human oversight"] }),
  group: t.String({ description: "The part of the framework that it belongs to", examples: ["Chapter III, Section 2: Requirements for high-risk AI systems"] }),
  summary: t.String({ description: "What it asks for, in our own words", examples: ["People can watch over the system, understand it and stop it."] }),
  roles: t.Optional(t.Array(OneOf(ROLES), { description: "Whom it binds, where the framework says so", examples: [["provider"]] })),
  scope: t.Optional(OneOf(SCOPES, { description: "Which AI systems or models it is about, where the framework says so", examples: ["high_risk"] })),
  applies: t.Optional(
    t.Array(
      Answer({
        when: OneOf(CASES, { description: "The case", examples: ["annex_iii"] }),
        from: t.String({ format: "date", description: "The first day", examples: ["2027-12-02"] }),
      }),
      {
        description: "From which day it applies in each case, where the framework says so",
      },
    ),
  ),
};

const framework = {
  key: FrameworkKey,
  name: t.String({ description: "Its name for people", examples: ["EU Artificial Intelligence Act"] }),
  version: t.String({
    description: "Which edition this is",
    examples: ["Regulation (EU) 2024/1689 as amended by Regulation (EU) 2026/1744 (in force 27.7.2026)"],
  }),
  publisher: t.String({ description: "Who made it", examples: ["European Parliament and Council of the European Union"] }),
  sourceUrl: t.String({ format: "uri", description: "Where its text is", examples: ["https://eur-lex.europa.eu/eli/reg/2024/1689/oj"] }),
};

export const FrameworkCatalogue = Answer(
  {
    items: t.Array(
      Answer(
        { ...framework, controls: t.Array(Answer(catalogueControl, { title: "CatalogueControl" }), { description: "All, in the framework's order" }) },
        { title: "CatalogueFramework" },
      ),
      { description: "All that were asked for" },
    ),
  },
  { title: "FrameworkCatalogue" },
);

const Count = Integer({ minimum: 0, description: "How many controls" });

export const Framework = Answer(
  {
    ...framework,
    progress: Answer(
      {
        total: Integer({ minimum: 0, description: "All its controls", examples: [51] }),
        counts: Answer(
          { not_started: Count, in_progress: Count, implemented: Count, not_applicable: Count },
          { description: "How many controls have each status" },
        ),
        percent: Integer({ minimum: 0, maximum: 100, description: "Implemented among the applicable ones, rounded down", examples: [42] }),
      },
      { title: "Progress", description: "How far the organization has come" },
    ),
    needsAttention: Integer({ minimum: 0, description: "How many of its controls have a certificate as evidence that is no longer good", examples: [0] }),
  },
  { title: "Framework" },
);

const reference = {
  url: t.Optional(t.String({ format: "uri", description: "Where it can be read", examples: WebAddress.examples })),
  certificateId: t.Optional({ ...Uuid, description: "A certificate of the organization" }),
};
const evidence = { title: t.String({ description: "What it shows", examples: ["Oversight procedure"] }), ...reference };
const Evidence = Answer(evidence, { title: "Evidence" });
const ShownEvidence = Answer(
  { ...evidence, certificateStatus: t.Optional(OneOf(CERTIFICATE_STATUSES, { description: "What the certificate is now; only `active` is good evidence" })) },
  { title: "ShownEvidence" },
);

const state = {
  status: ControlStatus,
  note: Nullable(t.String({ description: "Why it is so", examples: ["Reviewed by the board."] })),
  evidence: t.Array(Evidence, { description: "What shows it, as it was written" }),
  ownerId: Nullable({ ...Uuid, description: "The user who answers for it" }),
  dueDate: Nullable(t.String({ format: "date", description: "The day by which it should be done, in UTC", examples: ["2030-01-31"] })),
};

const control = {
  ...catalogueControl,
  framework: FrameworkKey,
  ...state,
  evidence: t.Array(ShownEvidence, { description: "What shows it" }),
  needsAttention: t.Boolean({ description: "A certificate among its evidence is expired, revoked or retired" }),
  version: Integer({ minimum: 0, description: "How often it was changed", examples: [1] }),
  updatedAt: Nullable({ ...DateTime, description: "When it was last changed; null: never" }),
};

export const Control = Answer(control, { title: "Control" });

const ControlHistoryEntry = Answer(
  {
    version: Integer({ minimum: 1, description: "The control's, by this change", examples: [1] }),
    at: { ...DateTime, description: "When" },
    actor: Actor,
    ...state,
  },
  { title: "ControlHistoryEntry" },
);

export const ControlWithHistory = Answer(
  {
    ...control,
    history: Answer(
      { items: t.Array(ControlHistoryEntry, { description: "A page of it" }), nextCursor: NextCursor },
      { description: "What it was after each change, the latest first" },
    ),
  },
  { title: "ControlWithHistory" },
);

const NewEvidence = Body(
  {
    title: Text({ description: "What it shows", examples: ["Oversight procedure"] }),
    url: t.Optional(WebAddress),
    certificateId: t.Optional({ ...Uuid, description: "A certificate of this organization" }),
  },
  { title: "NewEvidence", description: "Either a url or a certificateId" },
);

export const ChangeControl = Body(
  {
    status: ControlStatus,
    note: t.Optional(Nullable(Text({ max: 2_000, description: "Why it is so", examples: ["Reviewed by the board."] }))),
    evidence: t.Optional(t.Array(NewEvidence, { maxItems: 50, description: "In place of all that was there" })),
    ownerId: t.Optional(Nullable({ ...Uuid, description: "The user id of an active member" })),
    dueDate: t.Optional(Nullable(Day)),
  },
  { title: "ChangeControl" },
);

export const ControlQuery = t.Object({
  status: t.Optional(OneOf(STATUSES, { description: "Only controls in this state; one that was never touched is not_started" })),
  owner: t.Optional(Text({ description: "Only controls that this user answers for; none: for which nobody does", examples: ["none"] })),
  due: t.Optional(Day),
});

/** The filter of a query, or what is wrong with it. */
export function readFilter({ owner, ...rest }: ControlFilter): ControlFilter | { invalid: string } {
  if (owner !== undefined && owner !== "none" && !isUuid(owner)) return { invalid: "query.owner must be the id of a user (a UUID) or none." };
  return { ...rest, owner: owner?.toLowerCase() };
}
