import { inOrganization } from "../../api";
import { Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { PageHeading } from "../../parts/heading";
import { UtcTime } from "../../parts/time";
import { useRead } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";
import { History } from "../certificates/history";
import { AgentActions } from "./agent-actions";
import { AgentDeployments } from "./agent-deployments";
import { Credentials } from "./credentials";
import { EditLabels } from "./edit-labels";
import { Health } from "./states";
import type { Agent } from "./types";

export function AgentPage({ id }: { id: string }) {
  const reading = useRead<Agent>(inOrganization("agents", id));
  const shown = reading.data.value;
  const reload = () => void reading.reload();
  return (
    <>
      <PageHeading
        title={shown?.name ?? "Agent"}
        back={{ label: "Agents", href: link("agents") }}
        {...(shown && { intro: <Health of={shown} /> })}
        {...(shown && isAdmin.value && { actions: <AgentActions of={shown} onDone={reload} /> })}
      />
      <Loaded from={reading}>
        {(agent) => (
          <div class="columns">
            <div>
              <AgentDeployments agentId={id} />
              <Card title="History">
                <History id={id} />
              </Card>
            </div>
            <div>
              <Card title="Host">
                <Details of={agent} />
              </Card>
              <EditLabels of={agent} onDone={reload} />
              <Credentials of={agent} onDone={reload} />
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
}

const Details = ({ of: { host, lastSeenAt, createdAt } }: { of: Agent }) => (
  <Facts
    of={[
      ["Last seen", <UtcTime at={lastSeenAt} />],
      ["Host name", host?.hostname],
      ["System", host?.operatingSystem],
      ["Architecture", [host?.platform, host?.architecture].filter(Boolean).join(" ") || null],
      ["Agent", host?.agentVersion],
      ["Joined", <UtcTime at={createdAt} />],
    ]}
  />
);
