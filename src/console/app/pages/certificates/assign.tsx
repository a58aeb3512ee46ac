import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Choice } from "../../parts/choice";
import type { Values } from "../../parts/fields";
import { link } from "../../router";
import { AssignmentForm } from "../fleet/assignment-form";
import type { Certificate } from "./types";

/** Chooses an agent and a store of its host, whose own fields follow. */
export function Assign({ of, onAssigned }: { of: Certificate; onAssigned: () => void }) {
  const agentId = useSignal("");
  async function assign(body: Values) {
    if (agentId.value === "") throw new Error("Choose an agent.");
    await write("POST", inOrganization("agents", agentId.value, "assignments"), { body });
    onAssigned();
  }
  return (
    <div class="form">
      <p class="fine">
        To many agents: <a href={link("policies/new", { certificate: of.id })}>by labels</a>, or{" "}
        <a href={link("rollouts/new", { certificate: of.id })}>ring by ring</a>.
      </p>
      <Choice label="Agent" path={inOrganization("agents")} search="selector" chosen={agentId} option={({ id, name }) => ({ id, name })} />
      <AssignmentForm certificateId={of.id} submit="Assign" onSubmit={assign} />
    </div>
  );
}
