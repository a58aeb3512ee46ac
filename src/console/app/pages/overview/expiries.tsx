import { useMemo } from "preact/hooks";
import { inOrganization } from "../../api";
import { Timeline } from "../../parts/charts/timeline";
import { EmptyState, Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { useRead } from "../../reading";
import { link } from "../../router";
import { clockDifference, serverNow } from "../../server-time";
import { daysLeft } from "../certificates/standing";

const DAY_MS = 86_400_000;
const DAYS = 90;

const toneOf = (days: number) => (days < 7 ? "bad" : days < 30 ? "warn" : "accent");

/** The certificates that end in the next ninety days, each at its day; the first hundred. */
export function Expiries() {
  const [from, to] = useMemo(() => [new Date(serverNow()), new Date(serverNow() + DAYS * DAY_MS)] as const, [clockDifference.value]);
  const reading = useRead(inOrganization("certificates"), { status: "active", limit: 100, expiresBefore: to.toISOString() });
  return (
    <Card title="Expiring in the next 90 days" actions={<a href={link("certificates", { status: "active" })}>All certificates</a>}>
      <Loaded from={reading}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <EmptyState title="Nothing expires in the next 90 days." hint="Certificates appear here long before they end." />
          ) : (
            <>
              <Timeline
                label="Certificates by the day on which they expire"
                from={from}
                to={to}
                marks={items.map(({ id, commonName, subject, notAfter }) => ({
                  id,
                  label: commonName || subject,
                  at: notAfter,
                  tone: toneOf(daysLeft({ notAfter })),
                  href: link(`certificates/${id}`),
                }))}
              />
              <p class="fine">
                {nextCursor === null ? items.length : `More than ${items.length}`} expire; {items.filter((each) => daysLeft(each) < 7).length} within a week
                (red), {items.filter((each) => daysLeft(each) < 30).length} within 30 days.
              </p>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
