import type { NoticeList } from "../../inbox/list";
import type { Notice } from "../../inbox/types";
import { Dialog } from "../../parts/dialog";
import { type Field, Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { serverNow } from "../../server-time";

export type NoticeAction = { notice: Notice; action: "acknowledge" | "snooze" | "reopen" };
type Props = NoticeAction & { list: NoticeList; onClose: () => void };

const DAY_MS = 86_400_000;
const REASON: Field = { name: "reason", label: "Reason", kind: "text", hint: "For the audit trail.", placeholder: "The renewal is ordered." };
const UNTIL: Field = {
  name: "until",
  label: "Until",
  kind: "date",
  required: true,
  hint: "Members are notified once more as this day begins (UTC). At most a year from now.",
};
const WORDS = {
  acknowledge: { title: "Acknowledge", hint: "No member is notified of it again until it has ended.", done: "Acknowledged.", fields: [REASON] },
  snooze: { title: "Snooze", hint: "No member is notified of it until the day that you name.", done: "Snoozed.", fields: [UNTIL, REASON] },
  reopen: { title: "Reopen", hint: "Members are notified of what comes next.", done: "It is open again.", fields: [REASON] },
};

/** Asks until when and why, and says so of what the notice stands for. */
export function SettleDialog({ notice, action, list, onClose }: Props) {
  const { title, hint, done, fields } = WORDS[action];
  async function settle(values: Values) {
    await list.settle(notice, action, values);
    onClose();
    toast(done);
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="dialog-subject">{notice.title}</p>
      <p class="fine dialog-hint">{hint}</p>
      <Form fields={fields} values={{ until: inAWeek(serverNow()) }} submit={title} onSubmit={settle} onCancel={onClose} />
    </Dialog>
  );
}

const inAWeek = (now: number) => new Date(now + 7 * DAY_MS).toISOString().slice(0, 10);
