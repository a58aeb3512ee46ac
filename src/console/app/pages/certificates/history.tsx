import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { Failure } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { ShowMore } from "../../parts/show-more";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";

/** The audit trail of one thing; newest first. */
export const History = ({ id }: { id: string }) => (
  <Card title="History">{isAdmin.value ? <Events id={id} /> : <p class="fine">The audit trail is open to administrators.</p>}</Card>
);

function Events({ id }: { id: string }) {
  const pages = usePages(inOrganization("audit-events"), { targetId: id, limit: 20 });
  const { rows, error, isWhole } = pages;
  if (error.value) return <Failure error={error.value} />;
  if (rows.value.length === 0) return <p class="fine">{isWhole.value ? "Nothing has happened to it yet." : "Loading…"}</p>;
  return (
    <>
      <ol class="history">
        {rows.value.map((event) => (
          <li key={event.id}>
            <b>{event.action.replace(".", " ").replaceAll("-", " ")}</b>
            <span>
              <Time at={event.at} /> by {event.actor.type.replaceAll("-", " ")}
            </span>
          </li>
        ))}
      </ol>
      <ShowMore of={pages} />
    </>
  );
}
