import { Bars } from "../../parts/charts/bars";
import { Card } from "../../parts/facts";
import { Time } from "../../parts/time";
import { link } from "../../router";
import { StatesRing } from "./summary";
import type { Summary } from "./types";

/** Stores that have a bar; the filter has all. */
const SHOWN = 6;

/** How many deployments are in which state and store, and the drift that changed first. */
export function DeploymentSummary({ of: { deployments, oldestDrift } }: { of: Summary }) {
  const stores = deployments.byStore.toSorted((one, other) => other.total - one.total).slice(0, SHOWN);
  return (
    <div class="grid-cards below">
      <Card title="States">
        <StatesRing of={deployments} />
        {oldestDrift && (
          <p class="fine">
            {deployments.adrift} not as wanted,{" "}
            <a href={link(`agents/${oldestDrift.agentId}/assignments/${oldestDrift.assignmentId}`)}>
              the first since <Time at={oldestDrift.since} relative />
            </a>
            .
          </p>
        )}
      </Card>
      <Card title="Stores">
        <Bars
          label="Deployments by store"
          bars={stores.map(({ trustStoreType, total }) => ({ label: trustStoreType, value: total, href: link("deployments", { store: trustStoreType }) }))}
        />
      </Card>
    </div>
  );
}
