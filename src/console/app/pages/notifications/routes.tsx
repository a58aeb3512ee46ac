import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { Badge } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { labelOf } from "../../parts/fields";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { toastError } from "../../parts/toast";
import { usePages } from "../../reading";
import { go, link } from "../../router";
import { RouteDialog } from "./route-dialog";
import { NotificationTabs } from "./tabs";
import { describeTarget, readTargets } from "./targets";
import type { Route } from "./types";

export function RoutesPage() {
  const routes = usePages(inOrganization("notification-routes"));
  const isAdding = useSignal(false);
  useEffect(() => void readTargets().catch(toastError), []);
  return (
    <>
      <PageHeading
        title="Notification routes"
        intro="What goes to this organization's channels, and to more of its members."
        actions={
          isAdmin.value && (
            <button class="primary" type="button" onClick={() => (isAdding.value = true)}>
              Add a route
            </button>
          )
        }
      />
      <NotificationTabs />
      <DataTable
        label="Notification routes"
        columns={COLUMNS}
        from={routes}
        id={({ id }) => id}
        href={({ id }) => link(`notifications/routes/${id}`)}
        empty={
          <EmptyState
            title="There are no routes yet."
            hint="Whom a notice concerns gets it anyway. A route sends it to a webhook, Slack, Teams, PagerDuty or mailboxes too."
          />
        }
      />
      {isAdding.value && <RouteDialog onClose={() => (isAdding.value = false)} onDone={({ id }) => go(link(`notifications/routes/${id}`))} />}
    </>
  );
}

const COLUMNS: Column<Route>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "About", cell: ({ kinds }) => describeKinds(kinds) },
  { label: "At least", cell: ({ severity }) => severity },
  { label: "Leads to", cell: ({ target }) => describeTarget(target) },
  { label: "State", cell: (route) => <RouteState of={route} /> },
];

export function describeKinds(kinds: Route["kinds"]) {
  if (kinds === null) return "Everything";
  return kinds.length > 2 ? `${kinds.length} kinds` : kinds.map(labelOf).join(", ");
}

export function RouteState({ of: { enabled, targetMissing } }: { of: Route }) {
  if (targetMissing) return <Badge tone="bad" text="leads nowhere" />;
  return enabled ? <Badge tone="good" text="enabled" /> : <Badge tone="calm" text="disabled" />;
}
