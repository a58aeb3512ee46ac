import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { DetailPage } from "../../parts/detail";
import { Card, Facts } from "../../parts/facts";
import { UtcTime } from "../../parts/time";
import { useLive, useRead } from "../../reading";
import { link } from "../../router";
import { History } from "../certificates/history";
import { percent, Rings } from "./rings";
import { RolloutActions } from "./rollout-actions";
import { STATUS_TONES } from "./rollout-status";
import { ReportedState } from "./states";
import type { Rollout } from "./types";

export function RolloutPage({ id }: { id: string }) {
  const reading = useRead(inOrganization("rollouts", id));
  const shown = reading.data.value;
  const isMoving = shown?.status === "running" || shown?.status === "rolling_back";
  useLive(reading, isMoving);
  return (
    <DetailPage
      from={reading}
      kind="Rollout"
      name={({ name }) => name}
      back={{ label: "Rollouts", href: link("rollouts") }}
      intro={(shown) => <Badge tone={STATUS_TONES[shown.status]} text={shown.status} />}
      actions={(shown) => <RolloutActions of={shown} onDone={() => void reading.reload()} />}
    >
      {(rollout) => (
        <div class="columns">
          <div>
            {rollout.reason && <p class="fault">{rollout.reason}</p>}
            {rollout.heldSince && <p class="fault">It is held: it was changed in the database, and not by this server, so hosts keep what they have.</p>}
            <Card title="Rings" {...(isMoving && { hint: "Moves as the agents report." })}>
              <Rings of={rollout.rings} />
            </Card>
            {rollout.rollback && <Rollback of={rollout.rollback} />}
          </div>
          <div>
            <Card title="Rollout">
              <Details of={rollout} />
            </Card>
            <History id={id} />
          </div>
        </div>
      )}
    </DetailPage>
  );
}

const Details = ({ of: { certificateId, predecessorId, assignment, haltShare, successShare, skipped, createdAt, updatedAt } }: { of: Rollout }) => (
  <Facts
    of={[
      ["Certificate", <a href={link(`certificates/${certificateId}`)}>Its certificate</a>],
      ...(predecessorId ? ([["Replaces", <a href={link(`certificates/${predecessorId}`)}>The certificate before</a>]] as const) : []),
      ...(assignment
        ? ([
            ["Store", <code>{assignment.trustStoreType}</code>],
            ["Application", assignment.applicationId],
          ] as const)
        : []),
      ["Halts", haltShare === null ? "Never by itself" : `When ${percent(haltShare)} of a ring fail`],
      ["Goes on", `When ${percent(successShare)} of a ring have it`],
      ["Left alone", `${skipped} ${skipped === 1 ? "assignment" : "assignments"}`],
      ["Made", <UtcTime at={createdAt} />],
      ["Changed", <UtcTime at={updatedAt} />],
    ]}
  />
);

const Rollback = ({ of: { pending, failing } }: { of: NonNullable<Rollout["rollback"]> }) => (
  <Card
    title="Rollback"
    hint={pending === 0 ? "Every host has acted." : `${pending} ${pending === 1 ? "assignment waits" : "assignments wait"} for an agent to act.`}
  >
    <ul class="entries">
      {failing.map(({ agentId, agentName, assignmentId, state, message }) => (
        <li key={assignmentId}>
          <a href={link(`agents/${agentId}/assignments/${assignmentId}`)}>{agentName}</a>
          <span>{message}</span>
          <ReportedState state={state} />
        </li>
      ))}
    </ul>
  </Card>
);
