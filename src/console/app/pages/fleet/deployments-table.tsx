import type { ComponentChildren } from "preact";
import { Badge } from "../../parts/badge";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import type { Pages } from "../../reading";
import { link } from "../../router";
import { DeploymentState } from "./states";
import type { Deployment } from "./types";

const CERTIFICATE: Column<Deployment> = { label: "Certificate", cell: ({ commonName }) => commonName || "Without a name" };
const AGENT: Column<Deployment> = { label: "Agent", cell: ({ agentName }) => agentName };
const REST: Column<Deployment>[] = [
  { label: "State", cell: (row) => <DeploymentState of={row} /> },
  { label: "Drift", cell: ({ isAdrift }) => (isAdrift ? <Badge tone="warn" text="not as wanted" /> : <span class="none">none</span>) },
  { label: "Store", cell: ({ trustStoreType }) => <code>{trustStoreType}</code> },
  { label: "Reported", cell: ({ reportedAt }) => <Time at={reportedAt} relative /> },
];
const COLUMNS = {
  fleet: [CERTIFICATE, { ...AGENT, cell: ({ agentId, agentName }: Deployment) => <a href={link(`agents/${agentId}`)}>{agentName}</a> }, ...REST],
  agent: [CERTIFICATE, ...REST],
  certificate: [AGENT, ...REST],
};

type Props = {
  label: string;
  from: Pages<Deployment>;
  /** The thing whose deployments are listed: its name is no column. */
  of: keyof typeof COLUMNS;
  empty: ComponentChildren;
};

/** Assignments with the agents' last reports; each row leads to its assignment. */
export const DeploymentsTable = ({ label, from, of, empty }: Props) => (
  <DataTable
    label={label}
    from={from}
    id={({ assignmentId }) => assignmentId}
    href={({ agentId, assignmentId }) => link(`agents/${agentId}/assignments/${assignmentId}`)}
    columns={COLUMNS[of]}
    empty={empty}
  />
);
