import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { type Member, nameOf } from "../../members";
import { Badge } from "../../parts/badge";
import { EmptyState, Loaded } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages, useRead } from "../../reading";
import { serverNow } from "../../server-time";
import { InviteDialog, RemoveDialog, RoleDialog } from "./member-dialogs";
import { ROLES } from "./roles";
import type { Organization } from "./types";

type MemberDialog = { kind: "invite" } | { kind: "role" | "remove"; member: Member };

export function MembersPage() {
  const members = usePages(inOrganization("members"));
  const organization = useRead(inOrganization());
  const open = useSignal<MemberDialog | undefined>(undefined);
  const dialog = open.value;
  const done = {
    onClose: () => (open.value = undefined),
    onDone: () => void Promise.all([members.reload(), organization.reload()]),
  };
  return (
    <>
      <PageHeading
        title="Members"
        intro="Who may see this organization, and who may change it."
        actions={
          isAdmin.value && (
            <button class="primary" type="button" onClick={() => (open.value = { kind: "invite" })}>
              Invite a member
            </button>
          )
        }
      />
      <Loaded from={organization}>{(given) => <Seats of={given} />}</Loaded>
      <DataTable
        label="Members"
        columns={isAdmin.value ? [...COLUMNS, actions((kind, member) => (open.value = { kind, member }))] : COLUMNS}
        from={members}
        id={({ id }) => id}
        empty={<EmptyState title="There are no members yet." hint="Invite a member: the invitation goes out by mail." />}
      />
      {dialog?.kind === "invite" && <InviteDialog {...done} />}
      {dialog?.kind === "role" && <RoleDialog member={dialog.member} {...done} />}
      {dialog?.kind === "remove" && <RemoveDialog member={dialog.member} {...done} />}
    </>
  );
}

const COLUMNS: Column<Member>[] = [
  { label: "Name", cell: (member) => <MemberName of={member} /> },
  { label: "Role", cell: ({ role }) => ROLES[role] },
  { label: "State", cell: (member) => <MemberState of={member} /> },
  { label: "Since", cell: ({ createdAt }) => <Time at={createdAt} precision="day" /> },
];

const actions = (ask: (kind: "role" | "remove", member: Member) => void): Column<Member> => ({
  label: "Actions",
  align: "end",
  cell: (member) => (
    <span class="cell-actions">
      {member.status === "active" && (
        <button class="quiet" type="button" aria-label={`Change role: ${member.email}`} onClick={() => ask("role", member)}>
          Change role
        </button>
      )}
      <button class="quiet" type="button" aria-label={`${removalOf(member)}: ${member.email}`} onClick={() => ask("remove", member)}>
        {removalOf(member)}
      </button>
    </span>
  ),
});

const MemberName = ({ of: member }: { of: Member }) => (
  <>
    <b class="cell-title">{nameOf(member)}</b>
    {nameOf(member) !== member.email && <span class="cell-more">{member.email}</span>}
  </>
);

const isExpired = ({ invitationExpiresAt }: Member) => invitationExpiresAt !== null && Date.parse(invitationExpiresAt) <= serverNow();

const removalOf = ({ status }: Member) => (status === "active" ? "Remove" : "Withdraw");

function MemberState({ of: member }: { of: Member }) {
  const { status, invitationExpiresAt, invitationMail, invitationMailFailure } = member;
  if (status === "active") return <Badge tone="good" text="active" />;
  if (isExpired(member)) return <Badge tone="calm" text="invitation expired" />;
  if (invitationMail === "failed")
    return (
      <span title={invitationMailFailure ?? ""}>
        <Badge tone="bad" text="mail failed" /> <span class="fine">{invitationMailFailure}</span>
      </span>
    );
  return (
    <>
      <Badge tone="info" text="invited" />{" "}
      <span class="fine">
        ends <Time at={invitationExpiresAt} relative />
      </span>
    </>
  );
}

/** How full the organization is. */
const Seats = ({ of: { seatsTaken, seatLimit } }: { of: Organization }) => (
  <p class="seats">
    <span>
      <b>{seatsTaken.toLocaleString()}</b> {seatLimit === null ? "seats taken; there is no limit" : `of ${seatLimit.toLocaleString()} seats taken`}
    </span>
    {seatLimit !== null && <meter min={0} max={seatLimit} high={seatLimit * 0.9} value={seatsTaken} aria-label="Seats taken" />}
    <span class="fine">Invitations hold a seat until they expire.</span>
  </p>
);
