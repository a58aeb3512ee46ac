import { inOrganization } from "../../api";
import { AddLink } from "../../parts/add-link";
import { Badge } from "../../parts/badge";
import { type Filter, filterQuery } from "../../parts/filters";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { type Issuer, KINDS } from "./types";

const FILTERS: Filter[] = [{ name: "kind", label: "Kind", kind: "select", options: Object.entries(KINDS) }];

const COLUMNS: Column<Issuer>[] = [
  { label: "Name", cell: ({ name }) => name },
  { label: "Kind", cell: ({ kind }) => KINDS[kind] },
  { label: "Last test", cell: (row) => <TestOutcome of={row} /> },
  { label: "Tested", cell: ({ lastTest }) => <Time at={lastTest?.testedAt ?? null} relative /> },
  { label: "Rests until", cell: ({ retryAt }) => (retryAt ? <Time at={retryAt} relative /> : <span class="none">no rest</span>) },
];

export const IssuersPage = () => (
  <ListPage
    title="Issuers"
    intro="What orders are sent to: ACME directories, and authorities of your own."
    actions={<AddLink href={link("issuers/new")} label="New issuer" />}
    path="issuers"
    from={usePages(inOrganization("issuers"), filterQuery(FILTERS))}
    columns={COLUMNS}
    id={({ id }) => id}
    filters={FILTERS}
    noMatch="No issuer is of this kind."
    none={{
      title: "There is no issuer yet.",
      hint: "Name an ACME directory, such as Let's Encrypt, or an authority of your own.",
      action: { label: "New issuer", href: link("issuers/new") },
    }}
  />
);

export const TestOutcome = ({ of: { lastTest } }: { of: Issuer }) =>
  lastTest === null ? <Badge tone="calm" text="not tested" /> : <Badge tone={lastTest.outcome === "ok" ? "good" : "bad"} text={lastTest.outcome} />;
