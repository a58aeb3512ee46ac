import { inOrganization, write } from "../../api";
import { Card } from "../../parts/facts";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { useRead } from "../../reading";
import { go, link } from "../../router";
import { AssignmentForm, type NewAssignment } from "./assignment-form";
import type { Agent, Assignment } from "./types";

export function AssignPage({ id }: { id: string }) {
  const agent = useRead<Agent>(inOrganization("agents", id)).data.value;
  async function create(body: NewAssignment) {
    const made = await write<Assignment>("POST", inOrganization("agents", id, "assignments"), { body });
    toast("Assigned: the agent installs it at its next pass.");
    go(link(`agents/${id}/assignments/${made.id}`));
  }
  return (
    <>
      <PageHeading
        title="Assign a certificate"
        back={{ label: agent?.name ?? "Agent", href: link(`agents/${id}`) }}
        intro="The agent installs it in a store of its host, and keeps it there."
      />
      <div class="narrow-form">
        <Card title="Assignment">
          <AssignmentForm submit="Assign" onSubmit={create} />
        </Card>
      </div>
    </>
  );
}
