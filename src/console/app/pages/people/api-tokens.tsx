import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { useMembers } from "../../members";
import { Badge } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { serverNow } from "../../server-time";
import { ActorName } from "./actor";
import { RevokeTokenDialog, TokenDialog } from "./api-token-dialogs";
import { ROLES } from "./roles";
import type { ApiToken } from "./types";

const SOON_MS = 30 * 86_400_000;

export function ApiTokensPage() {
  const tokens = usePages(inOrganization("api-tokens"));
  const isMaking = useSignal(false);
  const revoking = useSignal<ApiToken | undefined>(undefined);
  const reload = () => void tokens.reload();
  useMembers();
  return (
    <>
      <PageHeading
        title="API tokens"
        intro="For programs: each acts in this organization alone, with its role."
        actions={
          isAdmin.value && (
            <button class="primary" type="button" onClick={() => (isMaking.value = true)}>
              Make a token
            </button>
          )
        }
      />
      <DataTable
        label="API tokens"
        columns={isAdmin.value ? [...COLUMNS, revocation((token) => (revoking.value = token))] : COLUMNS}
        from={tokens}
        id={({ id }) => id}
        empty={<EmptyState title="There are no API tokens." hint="Make one for a pipeline or a script: its text is shown once, when it is made." />}
      />
      {isMaking.value && <TokenDialog onClose={() => (isMaking.value = false)} onDone={reload} />}
      {revoking.value && <RevokeTokenDialog token={revoking.value} onClose={() => (revoking.value = undefined)} onDone={reload} />}
    </>
  );
}

const COLUMNS: Column<ApiToken>[] = [
  { label: "Name", cell: ({ name }) => <b class="cell-title">{name}</b> },
  { label: "Role", cell: ({ role }) => ROLES[role] },
  { label: "Ends", cell: ({ expiresAt }) => <TokenEnd at={expiresAt} now={serverNow()} /> },
  { label: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
  { label: "Made by", cell: ({ createdBy }) => <ActorName of={createdBy} /> },
  { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} precision="day" /> },
];

const revocation = (ask: (token: ApiToken) => void): Column<ApiToken> => ({
  label: "Actions",
  align: "end",
  cell: (token) => (
    <button class="quiet" type="button" aria-label={`Revoke: ${token.name}`} onClick={() => ask(token)}>
      Revoke
    </button>
  ),
});

function TokenEnd({ at, now }: { at: string | null; now: number }) {
  if (at === null || Date.parse(at) > now + SOON_MS) return <Time at={at} precision="day" />;
  const isOver = Date.parse(at) <= now;
  return (
    <>
      <Badge tone={isOver ? "calm" : "warn"} icon="clock" text={isOver ? "expired" : "soon"} /> <Time at={at} relative />
    </>
  );
}
