import { inOrganization, write } from "../../api";
import type { Values } from "../../parts/fields";
import { FormPage } from "../../parts/form-page";
import { toast } from "../../parts/toast";
import { useRead } from "../../reading";
import { go, link } from "../../router";
import { AssignmentForm } from "./assignment-form";

export function AssignPage({ id }: { id: string }) {
  const agent = useRead(inOrganization("agents", id)).data.value;
  async function create(body: Values) {
    const made = await write("POST", inOrganization("agents", id, "assignments"), { body });
    toast("Assigned: the agent installs it at its next pass.");
    go(link(`agents/${id}/assignments/${made.id}`));
  }
  return (
    <FormPage
      title="Assign a certificate"
      back={{ label: agent?.name ?? "Agent", href: link(`agents/${id}`) }}
      intro="The agent installs it in a store of its host, and keeps it there."
      card="Assignment"
    >
      <AssignmentForm submit="Assign" onSubmit={create} />
    </FormPage>
  );
}
