import { inOrganization } from "../../api";
import { AddLink } from "../../parts/add-link";
import { Badge } from "../../parts/badge";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { AUTHORITY_TONES, type Authority } from "./types";

const COLUMNS: Column<Authority>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "Status", cell: ({ status }) => <Badge tone={AUTHORITY_TONES[status]} text={status} /> },
  { label: "Kind", cell: ({ kind }) => (kind === "root" ? "Root" : "Issuing") },
  { label: "Subject", cell: ({ subject }) => <span title={subject}>{subject}</span> },
  { label: "Key", cell: ({ keyAlgorithm }) => keyAlgorithm },
  { label: "Expires", cell: ({ notAfter }) => (notAfter ? <Time at={notAfter} precision="day" /> : <span class="none">not yet signed</span>) },
];

export const AuthoritiesPage = () => (
  <ListPage
    title="Authorities"
    intro="Certificate authorities of your own. Their keys are sealed, and never leave the server."
    actions={<AddLink href={link("authorities/new")} label="New authority" />}
    path="authorities"
    from={usePages(inOrganization("authorities"))}
    columns={COLUMNS}
    id={({ id }) => id}
    none={{
      title: "There is no authority yet.",
      hint: "Make a root and an issuing authority below it, or import one that you have.",
      action: { label: "New authority", href: link("authorities/new") },
    }}
  />
);
