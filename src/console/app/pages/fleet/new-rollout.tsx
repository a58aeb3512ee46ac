import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Card } from "../../parts/facts";
import type { Field, Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import { AssignmentForm, type NewAssignment } from "./assignment-form";
import { type NewRing, RingsEditor, readRings } from "./rings-editor";
import type { Rollout } from "./rollout-types";

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
  async function create(assignment: NewAssignment, { name, haltShare, successShare }: Values) {
    const made = await write<Rollout>("POST", inOrganization("rollouts"), {
      body: { name, assignment, rings: readRings(rings.value), haltShare, successShare },
    });
    toast("The first ring is open.");
    go(link(`rollouts/${made.id}`));
  }
  return (
    <>
      <PageHeading
        title="New rollout"
        back={{ label: "Rollouts", href: link("rollouts") }}
        intro="The next ring opens when the one before has the certificate."
      />
      <div class="narrow-form">
        <Card title="What each agent gets">
          <AssignmentForm first={[NAME]} last={ROLLOUT_LIMITS} submit="Start the rollout" onSubmit={create}>
            <RingsEditor rings={rings} />
          </AssignmentForm>
        </Card>
      </div>
    </>
  );
}
