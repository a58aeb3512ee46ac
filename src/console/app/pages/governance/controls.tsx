import { useMemo } from "preact/hooks";
import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState, Loaded } from "../../parts/empty";
import { type Filter, Filters, filterQuery } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Day } from "../../parts/time";
import { useRead, wholeList } from "../../reading";
import { link } from "../../router";
import { serverNow } from "../../server-time";
import { type Member, nameOf, ownersOf, useMembers } from "../members";
import { filterControls } from "./filter";
import { type Control, type Framework, STATUSES, type Status } from "./types";

const filtersOf = (members: Member[]): Filter[] => [
  { name: "q", label: "Search", kind: "search", placeholder: "Title, article, group…" },
  { name: "status", label: "Status", kind: "select", options: STATUSES.map((status) => [status, status.replaceAll("_", " ")]) },
  { name: "owner", label: "Owner", kind: "select", options: [["none", "Nobody"], ...ownersOf(members)] },
  {
    name: "due",
    label: "Due",
    kind: "select",
    options: [
      ["overdue", "Overdue"],
      ["month", "Within 30 days"],
      ["none", "Without a date"],
    ],
  },
  { name: "attention", label: "Evidence", kind: "select", options: [["yes", "To look at"]] },
];

export function ControlsPage({ framework }: { framework: string }) {
  const frameworks = useRead<{ items: Framework[] }>(inOrganization("ai-governance", "frameworks"));
  const reading = useRead<{ items: Control[] }>(inOrganization("ai-governance", "frameworks", framework, "controls"));
  const members = useMembers();
  const filters = filtersOf(members);
  const shown = frameworks.data.value?.items.find(({ key }) => key === framework);
  return (
    <>
      <PageHeading
        title={shown?.name ?? "Controls"}
        back={{ label: "Governance", href: link("governance") }}
        {...(shown && { intro: `${shown.progress.percent}% of the applicable controls are implemented.` })}
      />
      <Filters of={filters} />
      <Loaded from={reading}>{({ items }) => <Controls items={items} framework={framework} members={members} filters={filters} />}</Loaded>
    </>
  );
}

type Props = { items: Control[]; framework: string; members: Member[]; filters: Filter[] };

function Controls({ items, framework, members, filters }: Props) {
  const query = filterQuery(filters);
  const from = useMemo(() => wholeList(filterControls(items, query, new Date(serverNow()))), [items, JSON.stringify(query)]);
  return (
    <DataTable
      label="Controls"
      columns={columnsOf(members)}
      from={from}
      id={({ id }) => id}
      href={({ id }) => link(`governance/${framework}/${id}`)}
      empty={
        <EmptyState
          title="No control matches."
          hint="Change or clear the filters above."
          action={{ label: "Clear the filters", href: link(`governance/${framework}`) }}
        />
      }
    />
  );
}

const columnsOf = (members: Member[]): Column<Control>[] => [
  { label: "Control", cell: ({ title }) => title },
  { label: "Reference", cell: ({ ref }) => ref },
  { label: "Status", cell: (control) => <ControlStanding of={control} /> },
  { label: "Owner", cell: ({ ownerId }) => nameOf(members, ownerId) },
  { label: "Due", cell: ({ dueDate }) => <Day on={dueDate} /> },
  { label: "Evidence", align: "end", cell: ({ evidence }) => evidence.length },
];

const TONES: Record<Status, Tone> = { not_started: "calm", in_progress: "info", implemented: "good", not_applicable: "calm" };

export const ControlStanding = ({ of: { status, needsAttention } }: { of: Pick<Control, "status" | "needsAttention"> }) => (
  <span class="badges">
    <Badge tone={TONES[status]} text={status} />
    {needsAttention && <Badge tone="warn" text="evidence lapsed" />}
  </span>
);
