import { inOrganization } from "../../api";
import { Ring } from "../../parts/charts/ring";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useRead } from "../../reading";
import { STATE_TONES } from "./states";
import type { Summary } from "./types";

/** How the whole fleet is: its agents, and what is assigned to them. */
export function FleetSummary() {
  const reading = useRead(inOrganization("fleet", "summary"));
  return (
    <Loaded from={reading}>
      {({ agents, deployments, held, trustsUntil }) => (
        <>
          <Standing held={held} trustsUntil={trustsUntil} />
          {agents.total > 0 && (
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
          )}
        </>
      )}
    </Loaded>
  );
}

/** The rows that are held, and until when an upgrade takes rows without a stamp. */
function Standing({ held, trustsUntil }: Pick<Summary, "held" | "trustsUntil">) {
  const found = Object.entries(held).filter(([, count]) => count > 0);
  return (
    <>
      {found.length > 0 && (
        <p class="fault">
          Held, because nothing proves that a server ordered it: {found.map(([what, count]) => `${count} ${NAMES[what] ?? what}`).join(", ")}. Ask who
          administers the server to look at it, and to run <code>certitude secrets trust</code>.
        </p>
      )}
      {trustsUntil && (
        <p>
          The server was upgraded: until <UtcTime at={trustsUntil} /> what the release before writes counts without a stamp.
        </p>
      )}
    </>
  );
}

const NAMES: Record<string, string> = {
  assignments: "assignments",
  policies: "assignment policies",
  rollouts: "rollouts",
  agents: "agents",
  members: "members",
  apiTokens: "API tokens",
};

export const StatesRing = ({ of }: { of: Summary["deployments"] }) => (
  <Ring
    label="Assignments by state"
    middle={String(of.total)}
    slices={Object.entries(of.byState)
      .filter(([, value]) => value > 0)
      .map(([state, value]) => ({ label: state, value, tone: STATE_TONES[state] ?? "calm" }))}
  />
);
