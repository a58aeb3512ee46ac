import { useMemo } from "preact/hooks";
import { inOrganization } from "../../api";
import { nameOfUser, owners, useMembers } from "../../members";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState, Loaded } from "../../parts/empty";
import { type Filter, Filters, filterQuery } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Day } from "../../parts/time";
import { useRead, wholeList } from "../../reading";
import { link } from "../../router";
import { serverNow } from "../../server-time";
import { filterControls } from "./filter";
import { type Control, STATUSES, type Status } from "./types";

const filtersNow = (): Filter[] => [
  { name: "q", label: "Search", kind: "search", placeholder: "Title, article, group…" },
  { name: "status", label: "Status", kind: "select", options: STATUSES.map((status) => [status, status.replaceAll("_", " ")]) },
  { name: "owner", label: "Owner", kind: "select", options: [["none", "Nobody"], ...owners.value] },
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
  const frameworks = useRead(inOrganization("ai-governance", "frameworks"));
  const reading = useRead(inOrganization("ai-governance", "frameworks", framework, "controls"));
  useMembers();
  const shown = frameworks.data.value?.items.find(({ key }) => key === framework);
  return (
    <>
      <PageHeading
        title={shown?.name ?? "Controls"}
        back={{ label: "Governance", href: link("governance") }}
        {...(shown && { intro: `${shown.progress.percent}% of the applicable controls are implemented.` })}
      />
      <Filters of={filtersNow()} />
      <Loaded from={reading}>{({ items }) => <Controls items={items} framework={framework} />}</Loaded>
    </>
  );
}

type Props = { items: Control[]; framework: string };

function Controls({ items, framework }: Props) {
  const query = filterQuery(filtersNow());
  const from = useMemo(() => wholeList(filterControls(items, query, new Date(serverNow()))), [items, JSON.stringify(query)]);
  return (
    <DataTable
      label="Controls"
      columns={COLUMNS}
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

const COLUMNS: Column<Control>[] = [
  { label: "Control", cell: ({ title }) => title },
  { label: "Reference", cell: ({ ref }) => ref },
  { label: "Status", cell: (control) => <ControlStanding of={control} /> },
  { label: "Owner", cell: ({ ownerId }) => nameOfUser(ownerId) ?? ownerId ?? "—" },
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
