import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { Badge, type Tone } from "../../parts/badge";
import { ListPage } from "../../parts/list-page";
import { Time } from "../../parts/time";
import { usePages, useRead } from "../../reading";
import { link } from "../../router";
import type { LastTest } from "./types";

const TONES: Record<LastTest["outcome"], Tone> = { ok: "good", failed: "bad", unsupported: "calm" };

export const useKinds = () => useRead(inOrganization("core", "connection-kinds"));

export function ConnectionsPage() {
  const kinds = useKinds().data.value?.items ?? [];
  const nameOf = (kind: string) => kinds.find((each) => each.kind === kind)?.displayName ?? kind;
  return (
    <ListPage
      title="Connections"
      intro="Authorities, clouds, chats and others that this organization works with."
      actions={isAdmin.value && <NewLink />}
      path="connections"
      from={usePages(inOrganization("core", "connections"))}
      columns={[
        { label: "Name", cell: ({ name }) => name },
        { label: "Kind", cell: ({ kind }) => nameOf(kind) },
        { label: "Last test", cell: ({ lastTest }) => <TestBadge of={lastTest} /> },
        { label: "Tested", cell: ({ lastTest }) => <Time at={lastTest?.testedAt ?? null} relative /> },
      ]}
      id={({ id }) => id}
      none={{
        title: "Nothing is connected yet.",
        hint: "Connect a certificate authority to order from it, or a chat to be notified there.",
        ...(isAdmin.value && { action: { label: "Connect something", href: link("connections/new") } }),
      }}
    />
  );
}

const NewLink = () => (
  <a class="button primary" href={link("connections/new")}>
    New connection
  </a>
);

export const TestBadge = ({ of }: { of: Pick<LastTest, "outcome" | "message"> | null }) =>
  of === null ? <Badge tone="calm" text="not tested" /> : <Badge tone={TONES[of.outcome]} text={of.outcome === "unsupported" ? "no test" : of.outcome} />;
