import { inOrganization } from "../../api";
import { EmptyState } from "../../parts/empty";
import { usePages } from "../../reading";
import { link } from "../../router";
import { DeploymentsTable } from "../fleet/deployments-table";

export const Deployments = ({ certificateId }: { certificateId: string }) => (
  <DeploymentsTable
    label="Deployments"
    of="certificate"
    from={usePages(inOrganization("deployments"), { certificateId })}
    empty={
      <EmptyState
        title="No agent keeps it."
        hint="Assign it to an agent, or by labels to all that have them: it is installed at their next pass."
        action={{ label: "Assign it by labels", href: link("policies/new", { certificate: certificateId }) }}
      />
    }
  />
);
