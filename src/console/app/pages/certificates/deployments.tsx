import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";

type Deployment = {
  assignmentId: string;
  agentId: string;
  agentName: string;
  applicationId: string;
  trustStoreType: string;
  enabled: boolean;
  state: string | null;
  message: string | null;
  reportedAt: string | null;
};

const TONES: Record<string, Tone> = { installed: "good", failed: "bad", drifted: "warn", removed: "calm", refused: "bad", kept: "calm" };

export function Deployments({ certificateId }: { certificateId: string }) {
  const pages = usePages<Deployment>(inOrganization("certificates", certificateId, "deployments"));
  return (
    <DataTable
      label="Deployments"
      from={pages}
      id={({ assignmentId }) => assignmentId}
      href={({ agentId }) => link(`agents/${agentId}`)}
      columns={[
        { label: "Agent", cell: ({ agentName }) => agentName },
        { label: "Store", cell: ({ trustStoreType }) => <code>{trustStoreType}</code> },
        { label: "State", cell: (row) => <DeploymentState of={row} /> },
        { label: "Reported", cell: ({ reportedAt }) => <Time at={reportedAt} relative /> },
      ]}
      empty={
        <EmptyState
          title="No agent keeps it."
          hint="Assign it to an agent, and the agent installs it at its next pass."
          action={{ label: "To the agents", href: link("agents") }}
        />
      }
    />
  );
}

const DeploymentState = ({ of: { state, enabled, message } }: { of: Deployment }) => (
  <span title={message ?? ""}>
    <Badge tone={state === null ? "info" : (TONES[state] ?? "calm")} text={enabled ? (state ?? "pending") : "disabled"} />
  </span>
);
