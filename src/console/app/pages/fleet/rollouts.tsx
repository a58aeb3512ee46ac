import { inOrganization } from "../../api";
import { AddLink } from "../../parts/add-link";
import { Badge } from "../../parts/badge";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { STATUS_TONES } from "./rollout-status";
import type { ListedRollout } from "./types";

const COLUMNS: Column<ListedRollout>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "Status", cell: ({ status, heldSince }) => (heldSince ? <Badge tone="bad" text="held" /> : <Badge tone={STATUS_TONES[status]} text={status} />) },
  { label: "Kind", cell: ({ predecessorId }) => (predecessorId === null ? "New" : "Rotation") },
  { label: "Rings", align: "end", cell: ({ rings }) => rings.length },
  { label: "Why", cell: ({ reason }) => (reason === null ? <span class="none">none</span> : <span title={reason}>{reason}</span>) },
  { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
];

export const RolloutsPage = () => (
  <ListPage
    title="Rollouts"
    intro="A certificate comes to many agents ring by ring, and stops where it fails."
    actions={<AddLink href={link("rollouts/new")} label="New rollout" />}
    path="rollouts"
    from={usePages(inOrganization("rollouts"))}
    columns={COLUMNS}
    id={({ id }) => id}
    none={{
      title: "Nothing was rolled out yet.",
      hint: "Choose a certificate and the agents, in rings: canaries first.",
      action: { label: "New rollout", href: link("rollouts/new") },
    }}
  />
);
