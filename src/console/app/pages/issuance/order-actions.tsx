import { useSignal } from "@preact/signals";
import { below, inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";
import type { Order } from "./types";

type Action = "cancel" | "approve" | "refuse";
const DONE: Record<Action, string> = { cancel: "The order is cancelled.", approve: "Approved: it goes on.", refuse: "Refused: it is cancelled." };

/** An open order is cancelled; one that awaits it is approved or refused. */
export function OrderActions({ of: { id, version, approval, replaces }, onDone }: { of: Order; onDone: () => void }) {
  const open = useSignal<"cancel" | "refuse" | undefined>(undefined);
  const close = () => {
    open.value = undefined;
  };
  async function act(action: Action, body?: Values) {
    const resource = inOrganization("certificate-requests", id);
    await write("POST", below(resource, action), { ...(body && { body }), version, resource });
    close();
    toast(DONE[action]);
    onDone();
  }
  return (
    <>
      <button type="button" class="danger" onClick={() => (open.value = "cancel")}>
        Cancel the order
      </button>
      {approval === "awaited" && (
        <>
          <button type="button" onClick={() => (open.value = "refuse")}>
            Refuse
          </button>
          <button type="button" class="primary" onClick={() => void act("approve").catch(toastError)}>
            Approve
          </button>
        </>
      )}
      {open.value === "cancel" && (
        <ConfirmDialog title="Cancel the order?" submit="Cancel the order" onConfirm={() => act("cancel")} onClose={close}>
          What the issuer issues in the same moment is not stored.
          {replaces !== null && " It renews a certificate: nothing does so any more until its renewal is ordered again."}
        </ConfirmDialog>
      )}
      {open.value === "refuse" && (
        <Dialog title="Refuse the order" onClose={close}>
          <Form
            submit="Refuse"
            isDangerous
            onCancel={close}
            onSubmit={(body) => act("refuse", body)}
            fields={[{ name: "reason", label: "Why", kind: "text", required: true, hint: "Its author reads it." }]}
          />
        </Dialog>
      )}
    </>
  );
}
