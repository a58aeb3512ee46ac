import { kindOf } from "#modules/notifications/events/rules/kinds";
import { session } from "../../auth/session";
import { consoleAddress } from "../../inbox/addresses";
import type { Notice } from "../../inbox/types";
import { Badge, type Tone } from "../../parts/badge";
import { Icon, type IconName } from "../../parts/icon";
import { Time } from "../../parts/time";
import type { NoticeAction } from "./settle";

const TONES: Record<string, Tone> = { open: "warn", snoozed: "info", acknowledged: "calm", cleared: "good" };
const SEVERITIES: Record<string, { icon: IconName; tone: Tone; label: string }> = {
  critical: { icon: "cross", tone: "bad", label: "Critical" },
  warning: { icon: "warning", tone: "warn", label: "Warning" },
  info: { icon: "dot", tone: "calm", label: "Information" },
};
const LABELS = { acknowledge: "Acknowledge", snooze: "Snooze", reopen: "Reopen" };

/** Returns the actions that a state allows: one that has ended takes none. */
const actionsOf = (state: string | null): NoticeAction["action"][] => {
  if (state === "open") return ["acknowledge", "snooze"];
  return state === "snoozed" || state === "acknowledged" ? ["reopen"] : [];
};

type Props = { notice: Notice; onRead: () => void; onSettle: (action: NoticeAction["action"]) => void };

export function NoticeRow({ notice, onRead, onSettle }: Props) {
  const { title, message, state, example, readAt, createdAt, link, kind } = notice;
  const { icon, tone, label } = SEVERITIES[kindOf(kind).severity] ?? { icon: "dot", tone: "calm", label: "Information" };
  const isUnread = readAt === null;
  return (
    <li class={isUnread ? "notice-row unread" : "notice-row"}>
      <span class={`severity ${tone}`} title={label}>
        <Icon name={icon} />
        <span class="hidden">{label}</span>
      </span>
      <div class="notice-text">
        <p class="notice-title">
          {link ? (
            <a href={consoleAddress(link)} onClick={() => isUnread && onRead()}>
              {title}
            </a>
          ) : (
            title
          )}
          {isUnread && <span class="unread-mark">Unread</span>}
        </p>
        <p>{message}</p>
        <p class="notice-meta">
          <Time at={createdAt} relative />
          <OrganizationName id={notice.organizationId} />
          {state && <Badge tone={TONES[state] ?? "calm"} text={state} />}
          {example && <Badge tone="calm" text="example" />}
        </p>
      </div>
      <div class="notice-actions">
        {actionsOf(state).map((action) => (
          <button key={action} type="button" onClick={() => onSettle(action)}>
            {LABELS[action]}
          </button>
        ))}
        {isUnread && (
          <button class="quiet" type="button" onClick={onRead}>
            <Icon name="check" /> Mark as read
          </button>
        )}
      </div>
    </li>
  );
}

/** Shown to persons with several organizations. */
function OrganizationName({ id }: { id: string | null }) {
  const memberships = session.value?.person.memberships ?? [];
  const name = memberships.find(({ organizationId }) => organizationId === id)?.organizationName;
  return memberships.length > 1 && name ? <span>{name}</span> : null;
}
