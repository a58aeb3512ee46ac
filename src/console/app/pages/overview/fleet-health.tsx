import { inOrganization } from "../../api";
import { Ring } from "../../parts/charts/ring";
import { EmptyState, Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { link } from "../../router";

export function FleetHealth() {
  const reading = useRead(inOrganization("fleet", "summary"));
  return (
    <Card title="Fleet" actions={<a href={link("agents")}>Agents</a>}>
      <Loaded from={reading}>
        {({ agents, deployments }) =>
          agents.total === 0 ? (
            <EmptyState
              title="No agent has joined."
              hint="An agent on each host installs certificates and watches them."
              action={{ label: "To the agents", href: link("agents") }}
            />
          ) : (
            <>
              <Ring
                label="Agents"
                middle={agents.total.toLocaleString()}
                slices={[
                  { label: "Online", value: agents.online, tone: "good" },
                  { label: "Late", value: agents.late, tone: "warn" },
                  { label: "Silent", value: agents.silent, tone: "bad" },
                ]}
              />
              <p class="fine">
                {deployments.total.toLocaleString()} deployments: {deployments.byState.installed ?? 0} installed, {deployments.adrift} adrift,{" "}
                {deployments.byState.failed ?? 0} failed, {deployments.byState.pending ?? 0} pending.
              </p>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
