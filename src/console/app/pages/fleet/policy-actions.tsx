import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import type { Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { ChangePolicy } from "./change-policy";
import type { PolicyWithReach } from "./types";

type Props = { of: PolicyWithReach; onDone: () => void };

export function PolicyActions({ of, onDone }: Props) {
  const open = useSignal<"change" | "switch" | "delete" | undefined>(undefined);
  const path = inOrganization("assignment-policies", of.id);
  const close = () => {
    open.value = undefined;
  };
  async function save(body: Values, said: string) {
    await write("PATCH", path, { body, version: of.version });
    close();
    toast(said);
    onDone();
  }
  async function remove() {
    await write("DELETE", path, { version: of.version });
    toast("The policy is deleted: agents take the certificate out.");
    go(link("policies"));
  }
  const toggle = () => save({ enabled: !of.enabled }, of.enabled ? "Switched off: agents take it out." : "Switched on: agents install it.");
  return (
    <>
      <button type="button" onClick={() => (open.value = "switch")}>
        {of.enabled ? "Switch off" : "Switch on"}
      </button>
      <button type="button" onClick={() => (open.value = "change")}>
        Change
      </button>
      <button type="button" class="danger" onClick={() => (open.value = "delete")}>
        Delete
      </button>
      {open.value === "change" && <ChangePolicy of={of} onSave={(body) => save(body, "Saved: agents follow at their next pass.")} onClose={close} />}
      {open.value === "switch" && (
        <ConfirmDialog
          title={of.enabled ? "Switch the policy off?" : "Switch the policy on?"}
          submit={of.enabled ? "Switch off" : "Switch on"}
          isDangerous={of.enabled}
          onConfirm={toggle}
          onClose={close}
        >
          {of.enabled ? `${agentsOf(of)} take the certificate out, until it is switched on again.` : `${agentsOf(of)} install the certificate.`}
        </ConfirmDialog>
      )}
      {open.value === "delete" && (
        <ConfirmDialog title="Delete the policy?" submit="Delete" onConfirm={remove} onClose={close}>
          {`${agentsOf(of)} take the certificate out, for good.`}
        </ConfirmDialog>
      )}
    </>
  );
}

const agentsOf = ({ agents }: PolicyWithReach) => `${agents.toLocaleString()} ${agents === 1 ? "agent that has it" : "agents that have it"}`;
