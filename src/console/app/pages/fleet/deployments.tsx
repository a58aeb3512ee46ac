import { inOrganization } from "../../api";
import { EmptyState, Loaded } from "../../parts/empty";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { usePages, useRead } from "../../reading";
import { link, place, setQuery } from "../../router";
import { DeploymentSummary } from "./deployment-summary";
import { DeploymentsTable } from "./deployments-table";
import { STATE_TONES } from "./states";
import type { Deployment } from "./types";

const filtersOf = (stores: string[]): Filter[] => [
  { name: "state", label: "State", kind: "select", options: Object.keys(STATE_TONES).map((state) => [state, state] as const) },
  { name: "store", label: "Store", kind: "select", options: stores.map((store) => [store, store] as const) },
  { name: "selector", label: "Labels of the agent", kind: "search", placeholder: "env=prod,tier!=db" },
];
/** Filters that links of other pages set, as ids. */
const LINKED = ["certificateId", "agentId"] as const;

export function DeploymentsPage() {
  const summary = useRead(inOrganization("fleet", "summary"));
  const linked = LINKED.map((name) => [name, place.value.query.get(name) ?? undefined] as const);
  const chosen = place.value.query.get("store");
  const used = summary.data.value?.deployments.byStore.map(({ trustStoreType }) => trustStoreType) ?? [];
  const filters = filtersOf([...new Set([...used, ...(chosen ? [chosen] : [])])]);
  const pages = usePages(inOrganization("deployments"), { ...filterQuery(filters), ...Object.fromEntries(linked) });
  const isLinked = linked.some(([, id]) => id !== undefined);
  return (
    <>
      <PageHeading title="Deployments" intro="What is assigned on all agents, and what they saw of it last." />
      <Loaded from={summary}>{(known) => known.deployments.total > 0 && <DeploymentSummary of={known} />}</Loaded>
      <Filters of={filters} />
      {isLinked && <Narrowed first={pages.rows.value[0]} />}
      <DeploymentsTable label="Deployments" of="fleet" from={pages} empty={<NoDeployments isFiltered={isLinked || isFiltered(filters)} />} />
    </>
  );
}

/** Says which certificate or agent the list is of, and leads back to all. */
function Narrowed({ first }: { first: Deployment | undefined }) {
  const { query } = place.value;
  const of = query.has("certificateId") ? (first?.commonName ?? "one certificate") : (first?.agentName ?? "one agent");
  return (
    <p class="notice">
      Only {of}.{" "}
      <button type="button" class="quiet" onClick={() => setQuery({ certificateId: "", agentId: "" })}>
        Show all
      </button>
    </p>
  );
}

const NoDeployments = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <EmptyState
      title="Nothing is deployed like this."
      hint="Change or clear the filters above."
      action={{ label: "Clear the filters", href: link("deployments") }}
    />
  ) : (
    <EmptyState
      title="Nothing is assigned yet."
      hint="Make a policy: each agent with its labels gets the certificate. Or assign one on the page of an agent."
      action={{ label: "New policy", href: link("policies/new") }}
    />
  );
