import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { inOrganization, write } from "../../api";
import type { Field, Values } from "../../parts/form";
import { FormPage } from "../../parts/form-page";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { AssignmentForm } from "./assignment-form";
import { ROLLOUT_LIMITS } from "./new-rollout";
import { PolicyPreview } from "./policy-preview";
import { type NewRing, RingsEditor, readRings } from "./rings-editor";
import type { Reach } from "./types";

export const POLICY_FIELDS: Field[] = [
  { name: "name", label: "Name of the policy", kind: "text", placeholder: "Corporate root on production" },
  {
    name: "selector",
    label: "Agents with these labels",
    kind: "text",
    placeholder: "env=prod,tier!=edge",
    hint: "As in the list of agents. All agents, where it is empty.",
  },
];

/** A policy is previewed before it is made. */
export function NewPolicyPage() {
  const id = useId();
  const isByRings = useSignal(false);
  const rings = useSignal<NewRing[]>([
    { selector: "env=canary", percent: "100" },
    { selector: "", percent: "100" },
  ]);
  const preview = useSignal<{ body: Values; reach: Reach } | undefined>(undefined);
  const path = inOrganization("assignment-policies");
  async function ask(assignment: Values, { name, selector = null, haltShare, successShare }: Values) {
    const byRings = isByRings.value ? { rings: readRings(rings.value), haltShare, successShare } : {};
    const body = { ...assignment, name, selector, ...byRings };
    preview.value = { body, reach: await write("POST", path, { body: { ...body, dryRun: true } }) };
  }
  async function make() {
    const made = await write("POST", path, { body: preview.value?.body ?? {} });
    toast("The policy is made: agents follow at their next pass.");
    go(link("id" in made ? `policies/${made.id}` : "policies"));
  }
  return (
    <>
      <FormPage
        title="New policy"
        back={{ label: "Policies", href: link("policies") }}
        intro="Every agent with the labels gets the assignment; one that loses them loses it."
        card="What each agent gets"
      >
        <div class="field check by-rings">
          <label for={id}>Ring by ring, as a rollout</label>
          <input id={id} type="checkbox" checked={isByRings.value} onChange={({ currentTarget }) => (isByRings.value = currentTarget.checked)} />
        </div>
        <AssignmentForm first={POLICY_FIELDS} last={isByRings.value ? ROLLOUT_LIMITS : []} submit="Preview" onSubmit={ask}>
          {isByRings.value && <RingsEditor rings={rings} />}
        </AssignmentForm>
      </FormPage>
      {preview.value && <PolicyPreview of={preview.value.reach} submit="Make the policy" onConfirm={make} onClose={() => (preview.value = undefined)} />}
    </>
  );
}
