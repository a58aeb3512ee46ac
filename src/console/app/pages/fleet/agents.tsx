import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { AddLink } from "../../parts/add-link";
import { type Filter, filterQuery } from "../../parts/filters";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { BulkLabels } from "./bulk-labels";
import { Health, LabelList } from "./states";
import { FleetSummary } from "./summary";
import type { Agent } from "./types";

const FILTERS: Filter[] = [{ name: "selector", label: "Labels", kind: "search", placeholder: "env=prod,tier!=db" }];

const COLUMNS: Column<Agent>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "Health", cell: (row) => <Health of={row} /> },
  { label: "Labels", cell: ({ labels }) => <LabelList of={labels} /> },
  { label: "System", cell: ({ host }) => host?.operatingSystem ?? host?.platform ?? <span class="none">not reported</span> },
  { label: "Last seen", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} relative /> },
];

export function AgentsPage() {
  const isLabelling = useSignal(false);
  const pages = usePages(inOrganization("agents"), filterQuery(FILTERS));
  return (
    <>
      <ListPage
        title="Agents"
        intro="The hosts that install certificates, and keep them as they should be."
        actions={
          isAdmin.value && (
            <>
              <button type="button" onClick={() => (isLabelling.value = true)}>
                Change labels
              </button>
              <AddLink href={link("join")} label="Join a host" />
            </>
          )
        }
        path="agents"
        from={pages}
        columns={COLUMNS}
        id={({ id }) => id}
        filters={FILTERS}
        noMatch="No agent has such labels."
        none={{
          title: "No host has joined yet.",
          hint: "Make a join token, and paste one line on the host.",
          action: { label: "Join a host", href: link("join") },
        }}
      >
        <FleetSummary />
      </ListPage>
      {isLabelling.value && <BulkLabels onClose={() => (isLabelling.value = false)} onDone={() => void pages.reload()} />}
    </>
  );
}
