import { useSignal } from "@preact/signals";
import { ACTOR_TYPES } from "#modules/people/audit/rules";
import { inOrganization } from "../../api";
import { useMembers } from "../../members";
import { Code } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { EmptyState } from "../../parts/empty";
import { Facts } from "../../parts/facts";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time, UtcTime } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { ActorName, describe } from "../people/actor";
import { ExportDialog } from "./export";
import type { AuditEvent } from "./types";

const FILTERS: Filter[] = [
  { name: "action", label: "Action", kind: "search", placeholder: "certificate.revoked" },
  { name: "actor", label: "Done by", kind: "select", options: ACTOR_TYPES.map((type) => [type, describe(type)] as const) },
  { name: "targetId", label: "Done to (id)", kind: "search", placeholder: "0198c0de-…" },
  { name: "from", label: "From", kind: "moment" },
  { name: "to", label: "Before", kind: "moment" },
];

export function AuditPage() {
  const query = filterQuery(FILTERS);
  const events = usePages(inOrganization("audit-events"), query);
  const shown = useSignal<AuditEvent | undefined>(undefined);
  const isExporting = useSignal(false);
  useMembers();
  const columns: Column<AuditEvent>[] = [
    {
      label: "Action",
      cell: (event) => (
        <button class="row-link" type="button" aria-haspopup="dialog" onClick={() => (shown.value = event)}>
          {event.action}
        </button>
      ),
    },
    { label: "When", cell: ({ at }) => <Time at={at} /> },
    { label: "Done by", cell: ({ actor }) => <ActorName of={actor} /> },
    { label: "Done to", cell: ({ targetType, targetId }) => <Target type={targetType} id={targetId} /> },
    { label: "Details", cell: ({ details }) => <code class="peek">{Object.keys(details).length > 0 && JSON.stringify(details)}</code> },
  ];
  return (
    <>
      <PageHeading
        title="Audit trail"
        intro="Everything that was changed or refused here, newest first. Nobody can change it."
        actions={
          <button type="button" onClick={() => (isExporting.value = true)}>
            Export
          </button>
        }
      />
      <Filters of={FILTERS} />
      <DataTable label="Audit events" columns={columns} from={events} id={({ id }) => id} empty={<NoEvents />} />
      {shown.value && <EventDialog event={shown.value} onClose={() => (shown.value = undefined)} />}
      {isExporting.value && <ExportDialog query={query} onClose={() => (isExporting.value = false)} />}
    </>
  );
}

const Target = ({ type, id }: { type: string; id: string }) => (
  <>
    {describe(type)} <code class="short-id">…{id.slice(-6)}</code>
  </>
);

const NoEvents = () =>
  isFiltered(FILTERS) ? (
    <EmptyState title="No event matches." hint="Change or clear the filters above." action={{ label: "Clear the filters", href: link("audit") }} />
  ) : (
    <EmptyState title="Nothing has happened yet." hint="Every change that is made here appears, with who made it." />
  );

const EventDialog = ({ event, onClose }: { event: AuditEvent; onClose: () => void }) => (
  <Dialog title={event.action} onClose={onClose}>
    <Facts
      of={[
        ["When", <UtcTime at={event.at} />],
        ["Done by", <ActorName of={event.actor} />],
        ["Actor's id", event.actor.id && <Code text={event.actor.id} label="Copy" />],
        ["By way of", event.actor.via && `${describe(event.actor.via.type)} ${event.actor.via.id ?? ""}`],
        ["Done to", describe(event.targetType)],
        ["Its id", <Code text={event.targetId} label="Copy" />],
        ["Request", event.requestId && <Code text={event.requestId} label="Copy" />],
      ]}
    />
    <h3 class="details-title">Details</h3>
    <pre class="json">{JSON.stringify(event.details, null, 2)}</pre>
    <p class="dialog-actions">
      <a class="button" href={link("audit", { targetId: event.targetId })} onClick={onClose}>
        All that was done to it
      </a>
    </p>
  </Dialog>
);
