import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages, useRead } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";
import type { Connection, ConnectionKind, LastTest } from "./types";

const TONES: Record<LastTest["outcome"], Tone> = { ok: "good", failed: "bad", unsupported: "calm" };

export const useKinds = () => useRead<{ items: ConnectionKind[] }>(inOrganization("core", "connection-kinds"));

export function ConnectionsPage() {
  const pages = usePages<Connection>(inOrganization("core", "connections"));
  const kinds = useKinds().data.value?.items ?? [];
  const nameOf = (kind: string) => kinds.find((each) => each.kind === kind)?.displayName ?? kind;
  return (
    <>
      <PageHeading
        title="Connections"
        intro="Authorities, clouds, chats and others that this organization works with."
        {...(isAdmin.value && { actions: <NewLink /> })}
      />
      <DataTable
        label="Connections"
        from={pages}
        id={({ id }) => id}
        href={({ id }) => link(`connections/${id}`)}
        columns={[
          { label: "Name", cell: ({ name }) => name },
          { label: "Kind", cell: ({ kind }) => nameOf(kind) },
          { label: "Last test", cell: ({ lastTest }) => <TestBadge of={lastTest} /> },
          { label: "Tested", cell: ({ lastTest }) => <Time at={lastTest?.testedAt ?? null} relative /> },
        ]}
        empty={
          <EmptyState
            title="Nothing is connected yet."
            hint="Connect a certificate authority to order from it, or a chat to be told there."
            {...(isAdmin.value && { action: { label: "Connect something", href: link("connections/new") } })}
          />
        }
      />
    </>
  );
}

const NewLink = () => (
  <a class="button primary" href={link("connections/new")}>
    New connection
  </a>
);

export const TestBadge = ({ of }: { of: Pick<LastTest, "outcome" | "message"> | null }) =>
  of === null ? <Badge tone="calm" text="not tested" /> : <Badge tone={TONES[of.outcome]} text={of.outcome === "unsupported" ? "no test" : of.outcome} />;
