import { inOrganization } from "../../api";
import { AddLink } from "../../parts/add-link";
import { EmptyState } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";
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

export function PoliciesPage() {
  const pages = usePages<Policy>(inOrganization("assignment-policies"));
  return (
    <>
      <PageHeading
        title="Policies"
        intro="A policy assigns a certificate to every agent with its labels, now and later."
        actions={<AddLink href={link("policies/new")} label="New policy" />}
      />
      <DataTable
        label="Policies"
        columns={COLUMNS}
        from={pages}
        id={({ id }) => id}
        href={({ id }) => link(`policies/${id}`)}
        empty={
          <EmptyState
            title="There are no policies yet."
            hint="Choose a certificate, a store and labels: agents that have them get it, those that join later too."
            {...(isAdmin.value && { action: { label: "New policy", href: link("policies/new") } })}
          />
        }
      />
    </>
  );
}
