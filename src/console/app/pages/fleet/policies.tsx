import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { AddLink } from "../../parts/add-link";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { nameOfPolicy, PolicyState, Selector } from "./policy-state";
import type { Policy } from "./types";

const COLUMNS: Column<Policy>[] = [
  { label: "Name", cell: (policy) => nameOfPolicy(policy) },
  { label: "State", cell: (policy) => <PolicyState of={policy} /> },
  { label: "Agents", cell: ({ selector }) => <Selector of={selector} /> },
  { label: "Store", cell: ({ trustStoreType }) => <code>{trustStoreType}</code> },
  { label: "Application", cell: ({ applicationId }) => applicationId },
  { label: "Changed", cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
];

export const PoliciesPage = () => (
  <ListPage
    title="Policies"
    intro="A policy assigns a certificate to every agent with its labels, now and later."
    actions={<AddLink href={link("policies/new")} label="New policy" />}
    path="policies"
    from={usePages(inOrganization("assignment-policies"))}
    columns={COLUMNS}
    id={({ id }) => id}
    none={{
      title: "There are no policies yet.",
      hint: "Choose a certificate, a store and labels: agents that have them get it, those that join later too.",
      ...(isAdmin.value && { action: { label: "New policy", href: link("policies/new") } }),
    }}
  />
);
