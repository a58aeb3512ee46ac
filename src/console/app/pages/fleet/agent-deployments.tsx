import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { usePages } from "../../reading";
import { link } from "../../router";
import { DeploymentsTable } from "./deployments-table";
import type { Deployment } from "./types";

/** Assignments of an agent with their drift, and the stores that it keeps. */
export function AgentDeployments({ agentId }: { agentId: string }) {
  const pages = usePages(inOrganization("deployments"), { agentId });
  const rows = pages.rows.value;
  return (
    <>
      <Card title="Assignments" hint="What the agent is to keep in its stores, and what it last saw there.">
        <DeploymentsTable
          label="Assignments"
          from={pages}
          of="agent"
          empty={
            <EmptyState
              title="Nothing is assigned to it."
              hint="Assign a certificate, and the agent installs it at its next pass."
              action={{ label: "Assign a certificate", href: link(`agents/${agentId}/assign`) }}
            />
          }
        />
      </Card>
      {rows.length > 0 && (
        <Card title="Stores">
          <Stores of={rows} />
        </Card>
      )}
    </>
  );
}

function Stores({ of }: { of: Deployment[] }) {
  const stores = Map.groupBy(of, ({ trustStoreType }) => trustStoreType);
  return (
    <ul class="entries">
      {[...stores].map(([type, rows]) => {
        const adrift = rows.filter(({ isAdrift }) => isAdrift).length;
        return (
          <li key={type}>
            <code>{type}</code>
            <span>{`${rows.length} ${rows.length === 1 ? "certificate" : "certificates"}`}</span>
            {adrift > 0 ? <Badge tone="warn" text={`${adrift} not as wanted`} /> : <Badge tone="good" text="as wanted" />}
          </li>
        );
      })}
    </ul>
  );
}
