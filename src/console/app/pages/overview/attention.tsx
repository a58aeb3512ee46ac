import { Failure } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";
import { type Reading, useRead } from "../../reading";
import { link, place } from "../../router";
import { session } from "../../session";

type Notice = { id: string; title: string; message: string; organizationId: string | null; state: string | null; createdAt: string };
type Inbox = { items: Notice[] };

const SHOWN = 5;

/** What needs the person today. An API token has no inbox. */
export const Attention = () => (session.value?.person.id === null ? null : <Needed />);

function Needed() {
  const inbox = useRead<Inbox>("users/me/notifications/inbox?limit=100");
  return (
    <Card title="What needs you today" actions={<a href={link("inbox")}>Inbox</a>}>
      {inbox.error.value ? <Failure error={inbox.error.value} retry={() => void inbox.reload()} /> : <Notices from={inbox} />}
    </Card>
  );
}

function Notices({ from }: { from: Reading<Inbox> }) {
  if (from.data.value === undefined) return <p class="loading">Loading…</p>;
  const { organizationId } = place.value;
  const open = from.data.value.items.filter((notice) => notice.state === "open" && notice.organizationId === organizationId);
  if (open.length === 0)
    return (
      <p class="all-well">
        <Icon name="check" /> Nothing. What expires, fails or falls due will stand here.
      </p>
    );
  return (
    <ul class="needs">
      {open.slice(0, SHOWN).map(({ id, title, message, createdAt }) => (
        <li key={id}>
          <Icon name="warning" />
          <div>
            <b>{title}</b>
            <p>{message}</p>
          </div>
          <Time at={createdAt} relative />
        </li>
      ))}
      {open.length > SHOWN && (
        <li>
          <a href={link("inbox")}>{open.length - SHOWN} more</a>
        </li>
      )}
    </ul>
  );
}
