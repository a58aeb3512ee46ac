import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import type { Field, Values } from "../../parts/form";
import { FormPage } from "../../parts/form-page";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { AssignmentForm } from "./assignment-form";
import { type NewRing, RingsEditor, readRings } from "./rings-editor";

const NAME: Field = { name: "name", label: "Name of the rollout", kind: "text", required: true, placeholder: "New root, canaries first" };
export const ROLLOUT_LIMITS: Field[] = [
  { name: "haltShare", label: "Halts at this share of failures", kind: "number", hint: "Of a ring's agents, between 0 and 1; 0.1 where it is empty." },
  { name: "successShare", label: "The next ring opens at this share", kind: "number", hint: "Of agents that have it, between 0 and 1; all where it is empty." },
];

export function NewRolloutPage() {
  const rings = useSignal<NewRing[]>([
    { selector: "env=canary", percent: "100" },
    { selector: "", percent: "100" },
  ]);
  async function create(assignment: Values, { name, haltShare, successShare }: Values) {
    const made = await write("POST", inOrganization("rollouts"), {
      body: { name, assignment, rings: readRings(rings.value), haltShare, successShare },
    });
    toast("The first ring is open.");
    go(link(`rollouts/${made.id}`));
  }
  return (
    <FormPage
      title="New rollout"
      back={{ label: "Rollouts", href: link("rollouts") }}
      intro="The next ring opens when the one before has the certificate."
      card="What each agent gets"
    >
      <AssignmentForm first={[NAME]} last={ROLLOUT_LIMITS} submit="Start the rollout" onSubmit={create}>
        <RingsEditor rings={rings} />
      </AssignmentForm>
    </FormPage>
  );
}
