import { Dialog } from "../../parts/dialog";
import { Form } from "../../parts/form";
import { link } from "../../router";
import type { Reach } from "./types";

type Props = { of: Reach; submit: string; onConfirm: () => Promise<unknown>; onClose: () => void };

/** The effect that a policy would have, before it is made or changed. */
export const PolicyPreview = ({ of: { agents, conflicts }, submit, onConfirm, onClose }: Props) => (
  <Dialog title="What it would do" onClose={onClose}>
    <Form fields={[]} submit={submit} onCancel={onClose} onSubmit={onConfirm}>
      <p>{agents === 1 ? "1 agent" : `${agents.toLocaleString()} agents`} would get it. Those that get the labels later follow.</p>
      <Conflicts of={conflicts} />
    </Form>
  </Dialog>
);

/** Agents on which something else has the place. */
export const Conflicts = ({ of: { total, items } }: { of: Reach["conflicts"] }) =>
  total > 0 && (
    <div class="conflicts">
      <p class="fault">
        {total === 1 ? "On 1 agent" : `On ${total.toLocaleString()} agents`} something else has the place: they do not get it before that is gone.
      </p>
      <ul class="entries">
        {items.map(({ agentId, agentName, assignmentId, policyId }) => (
          <li key={agentId}>
            <a href={link(`agents/${agentId}`)}>{agentName}</a>
            {policyId ? (
              <a href={link(`policies/${policyId}`)}>The other policy</a>
            ) : assignmentId ? (
              <a href={link(`agents/${agentId}/assignments/${assignmentId}`)}>What is there</a>
            ) : (
              <span>free by now</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
