import { inOrganization } from "../../api";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useRead } from "../../reading";
import { link } from "../../router";
import { History } from "../certificates/history";
import { AgentActions } from "./agent-actions";
import { AgentDeployments } from "./agent-deployments";
import { Credentials } from "./credentials";
import { EditLabels } from "./edit-labels";
import { Health } from "./states";
import type { Agent } from "./types";

export function AgentPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("agents", id));
  const reload = () => void reading.reload();
  return (
    <DetailPage
      from={reading}
      kind="Agent"
      name={({ name }) => name}
      back={{ label: "Agents", href: link("agents") }}
      intro={(shown) => <Health of={shown} />}
      actions={(shown) => <AgentActions of={shown} onDone={reload} />}
    >
      {(agent) => (
        <div class="columns">
          <div>
            <AgentDeployments agentId={id} />
            <History id={id} />
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
    </DetailPage>
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
