import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { type Member, readMembers } from "../../members";
import { Code } from "../../parts/copy";
import { Dialog, Done } from "../../parts/dialog";
import { type Field, Form, type Values } from "../../parts/form";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { ROLE } from "./roles";
import type { Invitation } from "./types";

type Props = { onClose: () => void; onDone: () => void };

const INVITE: Field[] = [
  { name: "email", label: "E-mail", kind: "email", required: true, placeholder: "grace@example.com" },
  { name: "firstName", label: "First name", kind: "text" },
  { name: "lastName", label: "Last name", kind: "text" },
  { ...ROLE, hint: "Administrators change things; members look at them." },
];

/** Invites a member. A server that sends no mail shows the link, this once. */
export function InviteDialog({ onClose, onDone }: Props) {
  const invitation = useSignal<Invitation | undefined>(undefined);
  async function invite(values: Values) {
    const member = await write("POST", inOrganization("members"), { body: values });
    onDone();
    invitation.value = member.invitation;
    if (member.invitation) return;
    onClose();
    toast(`${member.email} is invited.`);
  }
  if (invitation.value)
    return (
      <Dialog title="The invitation is ready" onClose={onClose}>
        <p class="dialog-hint">This server sends no mail: pass the link on yourself. It is shown this once.</p>
        <Code text={invitation.value.url} label="Copy the link" />
        <p class="fine">
          It can be used until <Time at={invitation.value.expiresAt} />.
        </p>
        <Done onClick={onClose} />
      </Dialog>
    );
  return (
    <Dialog title="Invite a member" onClose={onClose}>
      <p class="fine dialog-hint">Inviting an address once more sends a new link in the place of the earlier one.</p>
      <Form fields={INVITE} values={{ role: "ORG_MEMBER" }} submit="Invite" onSubmit={invite} onCancel={onClose} />
    </Dialog>
  );
}

type OfMember = Props & { member: Member };

export function RoleDialog({ member, onClose, onDone }: OfMember) {
  async function change(values: Values) {
    await write("PATCH", pathOf(member), { body: values, version: member.version, resource: () => findMember(member.id) });
    onDone();
    onClose();
    toast("The role is changed.");
  }
  return (
    <Dialog title={`Change the role of ${member.email}`} onClose={onClose}>
      <Form fields={[ROLE]} values={member} submit="Change the role" onSubmit={change} onCancel={onClose} />
    </Dialog>
  );
}

export function RemoveDialog({ member, onClose, onDone }: OfMember) {
  const isActive = member.status === "active";
  async function remove() {
    await write("DELETE", pathOf(member), { version: member.version, resource: () => findMember(member.id) });
    onDone();
    onClose();
    toast(isActive ? `${member.email} is no member any more.` : "The invitation is withdrawn.");
  }
  return (
    <Dialog title={isActive ? `Remove ${member.email}?` : `Withdraw the invitation of ${member.email}?`} onClose={onClose}>
      <p class="dialog-hint">
        {isActive ? "They lose access at once. What they made stays." : "The link that was sent does not work any more, and the seat is free."}
      </p>
      <Form fields={[]} submit={isActive ? "Remove" : "Withdraw"} isDangerous onSubmit={remove} onCancel={onClose} />
    </Dialog>
  );
}

const pathOf = ({ id }: Member) => inOrganization("members", id);

/** A member as it is now; the API shows members in its list alone. */
async function findMember(id: string) {
  const found = (await readMembers()).find((each) => each.id === id);
  if (!found) throw new Error("This member was removed meanwhile.");
  return found;
}
