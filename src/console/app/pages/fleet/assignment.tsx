import { inOrganization } from "../../api";
import { DetailPage } from "../../parts/detail";
import { EmptyState } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { DataTable } from "../../parts/table";
import { Time, UtcTime } from "../../parts/time";
import { usePages, useRead } from "../../reading";
import { link } from "../../router";
import { History } from "../certificates/history";
import { AssignmentActions } from "./assignment-actions";
import { ConfigCard } from "./config-card";
import { DeploymentState, ReportedState } from "./states";
import type { Assignment } from "./types";

export function AssignmentPage({ id, assignmentId }: { id: string; assignmentId: string }) {
  const reading = useRead(inOrganization("agents", id, "assignments", assignmentId));
  return (
    <DetailPage
      from={reading}
      kind="Assignment"
      name={({ commonName }) => commonName}
      back={{ label: "Agent", href: link(`agents/${id}`) }}
      intro={(shown) => <State of={shown} />}
      actions={(shown) => <AssignmentActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(assignment) => (
        <div class="columns">
          <div>
            <Card title="Reports" hint="What the agent saw; what said the same as before is left out.">
              <Reports of={assignment} />
            </Card>
            <History id={assignmentId} />
          </div>
          <div>
            <Card title="Assignment">
              <Details of={assignment} />
            </Card>
            <ConfigCard of={assignment.config} />
          </div>
        </div>
      )}
    </DetailPage>
  );
}

const State = ({ of }: { of: Assignment }) => <DeploymentState of={{ ...of, state: of.report?.state ?? "pending", message: of.report?.message ?? null }} />;

const Details = ({ of }: { of: Assignment }) => (
  <Facts
    of={[
      ["Certificate", <a href={link(`certificates/${of.certificateId}`)}>{of.commonName || of.certificateId}</a>],
      ["Store", <code>{of.trustStoreType}</code>],
      ["Used as", of.materialType.replaceAll("_", " ")],
      ["Application", of.applicationId],
      ["Private key", of.keyOnHost ? "The host's own: it never leaves it" : of.includePrivateKey ? "Sent to the host" : "Not sent"],
      ["Successors", of.autoRenew ? "Followed" : "Not followed"],
      ["Policy", of.policyId && <a href={link(`policies/${of.policyId}`)}>A policy decides what it says: change that</a>],
      ["Made", <UtcTime at={of.createdAt} />],
      ["Changed", <UtcTime at={of.updatedAt} />],
    ]}
  />
);

function Reports({ of: { agentId, id } }: { of: Assignment }) {
  const pages = usePages(inOrganization("agents", agentId, "assignments", id, "reports"));
  return (
    <DataTable
      label="Reports"
      from={pages}
      id={({ reportedAt, state }) => `${reportedAt} ${state}`}
      columns={[
        { label: "State", cell: ({ state }) => <ReportedState state={state} /> },
        { label: "Received", cell: ({ reportedAt }) => <Time at={reportedAt} /> },
        { label: "Message", cell: ({ message }) => (message === null ? <span class="none">none</span> : <span title={message}>{message}</span>) },
      ]}
      empty={<EmptyState title="The agent has not reported it yet." hint="It does at its next pass. Is it online?" />}
    />
  );
}
