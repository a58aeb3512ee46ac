import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { EmptyState } from "../../parts/empty";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { Icon } from "../../parts/icon";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";
import { BulkLabels } from "./bulk-labels";
import { Health, LabelList } from "./states";
import { FleetSummary } from "./summary";
import type { Agent } from "./types";

const FILTERS: Filter[] = [{ name: "selector", label: "Labels", kind: "search", placeholder: "env=prod,tier!=db" }];

const COLUMNS: Column<Agent>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "Health", cell: (row) => <Health of={row} /> },
  { label: "Labels", cell: ({ labels }) => <LabelList of={labels} /> },
  { label: "System", cell: ({ host }) => host?.operatingSystem ?? host?.platform ?? <span class="none">not told</span> },
  { label: "Last seen", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} relative /> },
];

export function AgentsPage() {
  const isLabelling = useSignal(false);
  const pages = usePages<Agent>(inOrganization("agents"), filterQuery(FILTERS));
  const toggle = (isOpen: boolean) => {
    isLabelling.value = isOpen;
  };
  return (
    <>
      <PageHeading
        title="Agents"
        intro="The hosts that install certificates, and keep them as they should be."
        actions={
          isAdmin.value && (
            <>
              <button type="button" onClick={() => toggle(true)}>
                Change labels
              </button>
              <a class="button primary" href={link("join")}>
                <Icon name="plus" /> Join a host
              </a>
            </>
          )
        }
      />
      <FleetSummary />
      <Filters of={FILTERS} />
      <DataTable label="Agents" columns={COLUMNS} from={pages} id={({ id }) => id} href={({ id }) => link(`agents/${id}`)} empty={<NoAgents />} />
      {isLabelling.value && <BulkLabels onClose={() => toggle(false)} onDone={() => void pages.reload()} />}
    </>
  );
}

const NoAgents = () =>
  isFiltered(FILTERS) ? (
    <EmptyState title="No agent has such labels." hint="Change or clear the filter above." action={{ label: "Clear the filter", href: link("agents") }} />
  ) : (
    <EmptyState
      title="No host has joined yet."
      hint="Make a join token, and paste one line on the host."
      action={{ label: "Join a host", href: link("join") }}
    />
  );
