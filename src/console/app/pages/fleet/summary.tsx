import { inOrganization } from "../../api";
import { Ring } from "../../parts/charts/ring";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { STATE_TONES } from "./states";
import type { Summary } from "./types";

/** How the whole fleet is: its agents, and what is assigned to them. */
export function FleetSummary() {
  const reading = useRead<Summary>(inOrganization("fleet", "summary"));
  return (
    <Loaded from={reading}>
      {({ agents, deployments }) =>
        agents.total > 0 && (
          <div class="grid-cards below">
            <Card title="Agents">
              <Ring
                label="Agents"
                middle={String(agents.total)}
                slices={[
                  { label: "Online", value: agents.online, tone: "good" },
                  { label: "Late: over 15 minutes", value: agents.late, tone: "warn" },
                  { label: "Silent: over a day", value: agents.silent, tone: "bad" },
                ]}
              />
            </Card>
            <Card title="Assignments">
              <StatesRing of={deployments} />
            </Card>
          </div>
        )
      }
    </Loaded>
  );
}

export const StatesRing = ({ of }: { of: Summary["deployments"] }) => (
  <Ring
    label="Assignments by state"
    middle={String(of.total)}
    slices={Object.entries(of.byState)
      .filter(([, value]) => value > 0)
      .map(([state, value]) => ({ label: state, value, tone: STATE_TONES[state] ?? "calm" }))}
  />
);
