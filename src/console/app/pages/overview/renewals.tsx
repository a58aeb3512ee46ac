import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { EmptyState, Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Time } from "../../parts/time";
import { useRead } from "../../reading";
import { link } from "../../router";

/** The next that are renewed by themselves; those that are late say so. */
export function Renewals() {
  const reading = useRead(inOrganization("renewals"), { limit: 5 });
  return (
    <Card title="Renewals">
      <Loaded from={reading}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="Nothing renews itself yet." hint="Order certificates from an issuer with automatic renewal, and they are renewed in time." />
          ) : (
            <ol class="history">
              {items.map(({ certificateId, commonName, state, renewAt, lateSince, reason }) => (
                <li key={certificateId} title={reason ?? ""}>
                  <a href={link(`certificates/${certificateId}`)}>{commonName}</a>
                  <span>
                    <Badge tone={lateSince ? "bad" : state === "failed" ? "warn" : "info"} text={lateSince ? "late" : state} /> <Time at={renewAt} relative />
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}
