import { useSignal } from "@preact/signals";
import { inOrganization, read, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";
import type { Rollout } from "./types";

type Action = "halt" | "resume" | "rollback";
const DONE: Record<Action, string> = {
  halt: "Halted: no ring opens until it is resumed.",
  resume: "It goes on.",
  rollback: "It is being rolled back: the agents undo it at their next pass.",
};

/** Buttons of a rollout, as its status allows. */
export function RolloutActions({ of: { id, status, haltShare }, onDone }: { of: Rollout; onDone: () => void }) {
  const open = useSignal<Action | undefined>(undefined);
  const close = () => {
    open.value = undefined;
  };
  async function act(action: Action, body?: Values) {
    const resource = inOrganization("rollouts", id);
    const { version } = await read(resource); // it moves by itself, so the one that is shown is older each time an agent reports
    await write("POST", inOrganization("rollouts", id, action), { ...(body && { body }), version, resource });
    close();
    toast(DONE[action]);
    onDone();
  }
  const canRollBack = status !== "rolling_back" && status !== "rolled_back";
  return (
    <>
      {canRollBack && (
        <button type="button" class="danger" onClick={() => (open.value = "rollback")}>
          Roll back
        </button>
      )}
      {status === "running" && (
        <button type="button" class="primary" onClick={() => void act("halt").catch(toastError)}>
          Halt
        </button>
      )}
      {status === "halted" && (
        <button type="button" class="primary" onClick={() => (open.value = "resume")}>
          Resume
        </button>
      )}
      {open.value === "rollback" && (
        <ConfirmDialog title="Roll it back?" submit="Roll back" onConfirm={() => act("rollback")} onClose={close}>
          What it made is removed from the hosts, and what it changed gets its certificate back.
        </ConfirmDialog>
      )}
      {open.value === "resume" && (
        <Dialog title="Resume the rollout" onClose={close}>
          <Form
            submit="Resume"
            values={{ haltShare }}
            onCancel={close}
            onSubmit={(body) => act("resume", body)}
            fields={[
              {
                name: "haltShare",
                label: "Halts at this share of failures",
                kind: "number",
                hint: "Between 0 and 1; as before where it is empty. Failures from before count no more.",
              },
            ]}
          />
        </Dialog>
      )}
    </>
  );
}
