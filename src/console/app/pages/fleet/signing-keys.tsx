import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { useMembers } from "../../members";
import type { RowInOrganization } from "../../operations";
import { Badge } from "../../parts/badge";
import { ConfirmDialog } from "../../parts/confirm";
import { EmptyState } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { usePages } from "../../reading";
import { ActorName } from "../people/actor";

type SigningKey = RowInOrganization<["signing-keys"]>;

const columnsOf = (newest: number): Column<SigningKey>[] => [
  { label: "Generation", cell: ({ generation }) => <b class="cell-title">{generation.toLocaleString()}</b> },
  { label: "Use", cell: ({ generation }) => (generation === newest ? <Badge tone="good" text="signs now" /> : <Badge tone="calm" text="history" />) },
  { label: "Endorsed", cell: ({ endorsement }) => (endorsement === null ? <span class="none">the first</span> : "by the one before") },
  { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { label: "Made by", cell: ({ createdBy }) => <ActorName of={createdBy} /> },
  { label: "Public key (Ed25519)", cell: ({ publicKey }) => <code title={publicKey}>{publicKey}</code> },
];

/** The keys that sign the desired state of agents. */
export function SigningKeysPage() {
  const pages = usePages(inOrganization("signing-keys"));
  const isAsking = useSignal(false);
  useMembers();
  const close = () => {
    isAsking.value = false;
  };
  async function rotate() {
    await write("POST", inOrganization("signing-keys"));
    close();
    toast("The new key signs from now on.");
    await pages.reload();
  }
  return (
    <>
      <PageHeading
        title="Signing keys"
        intro="Agents do only what is signed with the organization's key, so that no one between can change what they trust."
        actions={
          isAdmin.value && (
            <button class="primary" type="button" onClick={() => (isAsking.value = true)}>
              New key
            </button>
          )
        }
      />
      <DataTable
        label="Signing keys"
        columns={columnsOf(pages.rows.value[0]?.generation ?? 0)}
        from={pages}
        id={({ id }) => id}
        empty={<EmptyState title="There is no key yet." hint="The first is made when the first agent asks for its work, or by you with “New key”." />}
      />
      {isAsking.value && (
        <ConfirmDialog title="Sign with a new key?" submit="Make a new key" onConfirm={rotate} onClose={close}>
          The key that signs now endorses the new one, so that agents follow by themselves, and its private half is erased. It cannot be brought back.
        </ConfirmDialog>
      )}
    </>
  );
}
