import { describeMoment, type EventGroup, type KindOf, nameFirst } from "./kind";

type ControlFacts = { key: string; framework: string; reference: string; title: string; dueDate: string };
type DocumentFacts = { title: string; reason?: string | null };

const named = ({ framework, reference }: Pick<ControlFacts, "framework" | "reference">) => `${framework}, ${reference}`;
const controls = ({ items, count }: EventGroup<Pick<ControlFacts, "framework" | "reference">>) => `${nameFirst(items.map(named), count)}.`;
const ofControl = {
  audience: "ORG_ADMIN",
  mail: "at_once",
  path: { one: (id: string, { key }: { key: string }) => `/ai-governance/frameworks/${key}/controls/${id}`, many: () => "/ai-governance/frameworks" },
} as const;
const example: ControlFacts = { key: "euaiact", framework: "EU AI Act", reference: "Art. 9", title: "Risk management system", dueDate: "2030-01-15" };

const due: KindOf<ControlFacts> = {
  ...ofControl,
  severity: "warning",
  begins: { condition: "control due", repeats: true },
  one: (facts) => ({
    title: `${named(facts)} is due on ${facts.dueDate}`,
    message: `The control ${named(facts)} (${facts.title}) is due on ${facts.dueDate}.`,
  }),
  many: (group) => ({ title: `${group.count} controls are due`, message: controls(group) }),
  example,
};

const overdue: KindOf<ControlFacts> = {
  ...due,
  severity: "critical",
  one: (facts) => ({ title: `${named(facts)} is overdue`, message: `The control ${named(facts)} (${facts.title}) was due on ${facts.dueDate}.` }),
  many: (group) => ({ title: `${group.count} controls are overdue`, message: controls(group) }),
};

const reopened: KindOf<Omit<ControlFacts, "dueDate"> & { reason: string }> = {
  ...ofControl,
  severity: "warning",
  begins: { condition: "control attention" },
  one: (facts) => ({ title: `${named(facts)} needs attention`, message: `The control ${named(facts)} (${facts.title}) needs attention: ${facts.reason}` }),
  many: (group) => ({ title: `${group.count} controls need attention`, message: controls(group) }),
  example: { ...example, reason: "The certificate that is its evidence has expired." },
};

const range = ({ min, max }: { min?: number; max?: number }) =>
  min === undefined ? `at most ${max}` : max === undefined ? `at least ${min}` : `${min} to ${max}`;

const threshold: KindOf<{ system: string; metric: string; value: number; recordedAt: string; min?: number; max?: number }> = {
  severity: "warning",
  audience: "ORG_ADMIN",
  mail: "at_once",
  begins: { condition: "metric threshold" },
  one: ({ system, metric, value, recordedAt, ...ends }) => ({
    title: `${metric} of ${system} has left its range`,
    message: `${metric} of ${system} was ${value} on ${describeMoment(recordedAt)}, and should be ${range(ends)}.`,
  }),
  many: ({ items, count }) => ({
    title: `${count} metrics have left their range`,
    message: `${nameFirst(
      items.map(({ system, metric }) => `${metric} of ${system}`),
      count,
    )}.`,
  }),
  path: { one: (id) => `/ai-governance/metric-thresholds/${id}`, many: () => "/ai-governance/metric-thresholds" },
  example: { system: "support-bot", metric: "error_rate", value: 0.09, recordedAt: "2030-01-15T12:00:00.000Z", max: 0.05 },
};

const documents = ({ items, count }: EventGroup<DocumentFacts>) =>
  `${nameFirst(
    items.map(({ title }) => title),
    count,
  )}.`;

const search = (title = "") => `/knowledge/search?q=${encodeURIComponent(title)}`;
const ofDocument = {
  audience: "ORG_ADMIN",
  path: { one: (_: string, { title }: DocumentFacts) => search(title), many: ({ items: [first] }: EventGroup<DocumentFacts>) => search(first?.title) },
} as const;

const indexed: KindOf<DocumentFacts> = {
  ...ofDocument,
  severity: "info",
  mail: "off",
  ends: { condition: "document failure", always: true },
  one: ({ title }) => ({ title: `${title} can be searched`, message: `The document ${title} was indexed.` }),
  many: (group) => ({ title: `${group.count} documents can be searched`, message: documents(group) }),
  example: { title: "Incident handbook" },
};

const unindexed: KindOf<DocumentFacts> = {
  ...ofDocument,
  severity: "warning",
  mail: "at_once",
  begins: { condition: "document failure" },
  one: ({ title, reason }) => ({ title: `${title} could not be indexed`, message: `The document ${title} could not be indexed.${reason ? ` ${reason}` : ""}` }),
  many: (group) => ({ title: `${group.count} documents could not be indexed`, message: documents(group) }),
  example: { title: "Incident handbook", reason: "It has no text." },
};

export const GOVERNANCE_KINDS = {
  control_due: due,
  control_overdue: overdue,
  control_reopened: reopened,
  metric_threshold: threshold,
  document_indexed: indexed,
  document_failed: unindexed,
};
