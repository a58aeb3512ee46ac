import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";

type State = "pending" | "failing" | "told" | "expired";
type Revocation = {
  id: string;
  certificateId: string;
  commonName: string;
  issuerId: string;
  reason: string;
  state: State;
  attempts: number;
  failure: string | null;
  nextAttemptAt: string | null;
  toldAt: string | null;
};

const TONES: Record<State, Tone> = { pending: "info", failing: "bad", told: "good", expired: "calm" };
const FILTERS: Filter[] = [{ name: "state", label: "State", kind: "select", options: Object.keys(TONES).map((state) => [state, state] as const) }];

const COLUMNS: Column<Revocation>[] = [
  { label: "Certificate", cell: ({ commonName }) => commonName || "Without a name" },
  { label: "At the CA", cell: ({ state }) => <Badge tone={TONES[state]} text={state} /> },
  { label: "Reason", cell: ({ reason }) => reason },
  { label: "Issuer", cell: ({ issuerId }) => <a href={link(`issuers/${issuerId}`)}>Its issuer</a> },
  { label: "Told", cell: ({ toldAt }) => (toldAt ? <Time at={toldAt} /> : <span class="none">not yet</span>) },
  { label: "Last failure", cell: ({ failure }) => (failure ? <span title={failure}>{failure}</span> : <span class="none">none</span>) },
  { label: "Next attempt", cell: ({ nextAttemptAt }) => (nextAttemptAt ? <Time at={nextAttemptAt} relative /> : <span class="none">none</span>) },
];

export function RevocationsPage() {
  const pages = usePages<Revocation>(inOrganization("revocations"), filterQuery(FILTERS));
  return (
    <>
      <PageHeading title="Revocations" intro="What was revoked here and issued elsewhere: whether its CA has revoked it too." />
      <Filters of={FILTERS} />
      <DataTable
        label="Revocations"
        columns={COLUMNS}
        from={pages}
        id={({ id }) => id}
        href={({ certificateId }) => link(`certificates/${certificateId}`)}
        empty={
          isFiltered(FILTERS) ? (
            <EmptyState title="No revocation is so." hint="Clear the filter above." action={{ label: "Clear the filter", href: link("revocations") }} />
          ) : (
            <EmptyState
              title="Nothing was revoked at a CA elsewhere."
              hint="Revoke a certificate on its page, and its CA is told."
              action={{ label: "To the certificates", href: link("certificates") }}
            />
          )
        }
      />
    </>
  );
}
