import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { EmptyState } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { usePages } from "../../reading";
import { link } from "../../router";
import { JoinLine } from "./join-line";
import { LabelList } from "./states";
import type { JoinToken, NewJoinToken } from "./types";

export const JoinPage = () => (
  <>
    <PageHeading
      title="Join a host"
      back={{ label: "Agents", href: link("agents") }}
      intro="A host becomes an agent by one line. It makes a key that never leaves it."
    />
    {isAdmin.value ? <Joining /> : <EmptyState title="Only administrators let hosts join." hint="Ask one of them for a join token." />}
  </>
);

function Joining() {
  const made = useSignal<NewJoinToken | undefined>(undefined);
  const tokens = usePages(inOrganization("join-tokens"));
  async function make(body: Values) {
    made.value = await write("POST", inOrganization("join-tokens"), { body });
    await tokens.reload();
  }
  return (
    <div class="stack">
      <Card title={made.value ? "Paste this on the host" : "New join token"}>
        {made.value ? (
          <JoinLine of={made.value} onDone={() => (made.value = undefined)} />
        ) : (
          <Form
            submit="Make a join token"
            onSubmit={make}
            values={{ maxUses: 1 }}
            fields={[
              { name: "labels", label: "Labels of the new agents", kind: "pairs", placeholder: "env=prod" },
              { name: "maxUses", label: "Hosts that may join with it", kind: "number", required: true },
              { name: "expiresAt", label: "Ends at", kind: "datetime", hint: "In your own time, within a year. In a day where it is empty." },
            ]}
          />
        )}
      </Card>
      <Card title="Join tokens" hint="Those that are used or have ended, too; never their text.">
        <DataTable
          label="Join tokens"
          from={tokens}
          id={({ id }) => id}
          columns={[
            { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> },
            { label: "For", cell: (token) => (token.agentId ? <a href={link(`agents/${token.agentId}`)}>one agent</a> : <LabelList of={token.labels} />) },
            { label: "Used", align: "end", cell: ({ uses, maxUses }) => `${uses.toLocaleString()} of ${maxUses.toLocaleString()}` },
            { label: "Ends", cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
            { label: "Action", cell: (token) => <Delete of={token} onDone={() => void tokens.reload()} /> },
          ]}
          empty={<EmptyState title="There are no join tokens." hint="Make one above: each is good for as many hosts as you say." />}
        />
      </Card>
    </div>
  );
}

function Delete({ of: { id, version, createdAt }, onDone }: { of: JoinToken; onDone: () => void }) {
  const remove = () =>
    write("DELETE", inOrganization("join-tokens", id), { version }).then(() => {
      toast("The join token is deleted: no host joins with it from now on.");
      onDone();
    }, toastError);
  return (
    <button class="quiet" type="button" aria-label={`Delete the join token of ${createdAt}`} onClick={() => void remove()}>
      Delete
    </button>
  );
}
