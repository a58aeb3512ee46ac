import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { type Filter, filterQuery } from "../../parts/filters";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import type { Renewal } from "./types";

const TONES: Record<Renewal["state"], Tone> = { scheduled: "calm", ordered: "info", failed: "bad", issued: "info", renewed: "good", ended: "calm" };

const FILTERS: Filter[] = [
  { name: "state", label: "State", kind: "select", options: Object.keys(TONES).map((state) => [state, state] as const) },
  { name: "late", label: "Late", kind: "select", options: [["true", "Only what is late"]] },
];

const COLUMNS: Column<Renewal>[] = [
  { label: "Certificate", cell: ({ commonName }) => commonName || "Without a name" },
  { label: "State", cell: ({ state }) => <Badge tone={TONES[state]} text={state} /> },
  { label: "Due", cell: ({ renewAt }) => <Time at={renewAt} relative /> },
  { label: "Late", cell: ({ lateSince }) => (lateSince ? <Late since={lateSince} /> : <span class="none">no</span>) },
  { label: "Expires", cell: ({ notAfter }) => <Time at={notAfter} precision="day" /> },
  { label: "Why", cell: ({ reason, failures }) => <Why reason={reason} failures={failures} /> },
  { label: "Order", cell: ({ requestId }) => (requestId ? <a href={link(`orders/${requestId}`)}>The last one</a> : <span class="none">none yet</span>) },
];

export const RenewalsPage = () => (
  <ListPage
    title="Renewals"
    intro="The certificates that issuers look after: what is due when, what is late, and why."
    path="renewals"
    from={usePages(inOrganization("renewals"), filterQuery(FILTERS))}
    columns={COLUMNS}
    id={({ certificateId }) => certificateId}
    href={({ certificateId }) => link(`certificates/${certificateId}`)}
    filters={FILTERS}
    noMatch="No renewal is so."
    none={{
      title: "No issuer looks after a certificate yet.",
      hint: "What you order here is renewed by itself; what was imported can be renewed at an issuer from its page.",
      action: { label: "Order a certificate", href: link("orders/new") },
    }}
  />
);

const Late = ({ since }: { since: string }) => (
  <>
    <Badge tone="bad" icon="warning" text="late" /> <Time at={since} relative />
  </>
);

const Why = ({ reason, failures }: { reason: string | null; failures: number }) => (
  <span title={reason ?? ""}>
    {failures > 0 && `${failures} ${failures === 1 ? "failure" : "failures"}. `}
    {reason ?? (failures === 0 && <span class="none">none</span>)}
  </span>
);
