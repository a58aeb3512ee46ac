import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { type Filter, filterQuery } from "../../parts/filters";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import type { Revocation } from "./types";

const TONES: Record<Revocation["state"], Tone> = { pending: "info", failing: "bad", told: "good", expired: "calm" };
const FILTERS: Filter[] = [{ name: "state", label: "State", kind: "select", options: Object.keys(TONES).map((state) => [state, state] as const) }];

const COLUMNS: Column<Revocation>[] = [
  { label: "Certificate", cell: ({ commonName }) => commonName || "Without a name" },
  { label: "At the CA", cell: ({ state }) => <Badge tone={TONES[state]} text={state} /> },
  { label: "Reason", cell: ({ reason }) => reason },
  { label: "Issuer", cell: ({ issuerId }) => <a href={link(`issuers/${issuerId}`)}>Its issuer</a> },
  { label: "Revoked at the CA", cell: ({ toldAt }) => (toldAt ? <Time at={toldAt} /> : <span class="none">not yet</span>) },
  { label: "Last failure", cell: ({ failure }) => (failure ? <span title={failure}>{failure}</span> : <span class="none">none</span>) },
  { label: "Next attempt", cell: ({ nextAttemptAt }) => (nextAttemptAt ? <Time at={nextAttemptAt} relative /> : <span class="none">none</span>) },
];

export const RevocationsPage = () => (
  <ListPage
    title="Revocations"
    intro="What was revoked here and issued elsewhere: whether its CA has revoked it too."
    path="revocations"
    from={usePages(inOrganization("revocations"), filterQuery(FILTERS))}
    columns={COLUMNS}
    id={({ id }) => id}
    href={({ certificateId }) => link(`certificates/${certificateId}`)}
    filters={FILTERS}
    noMatch="No revocation is so."
    none={{
      title: "Nothing was revoked at a CA elsewhere.",
      hint: "Revoke a certificate on its page, and its CA revokes it too.",
      action: { label: "To the certificates", href: link("certificates") },
    }}
  />
);
