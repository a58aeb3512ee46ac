import { address } from "../../api";
import { session } from "../../auth/session";
import type { Inbox } from "../../inbox/types";
import { Failure } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";
import { type Reading, useRead } from "../../reading";
import { link, place } from "../../router";

const SHOWN = 5;

/** Open notices of the person. An API token has no inbox. */
export const Attention = () => (session.value?.person.id === null ? null : <Needed />);

function Needed() {
  const inbox = useRead(address("users", "me", "notifications", "inbox"), { limit: 100 });
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
