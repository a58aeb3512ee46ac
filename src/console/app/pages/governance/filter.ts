import type { Control } from "./types";

type ControlFilter = Partial<Record<string, string | undefined>>;

const MONTH_MS = 30 * 86_400_000;

/** The controls that the filters of the page leave. */
export const filterControls = (controls: readonly Control[], { q = "", status, owner, due, attention }: ControlFilter, now: Date) =>
  controls.filter(
    (control) =>
      (status === undefined || control.status === status) &&
      (owner === undefined || (control.ownerId ?? "none") === owner) &&
      (due === undefined || isDue(control, due, now)) &&
      (attention === undefined || control.needsAttention) &&
      `${control.title} ${control.ref} ${control.group} ${control.summary}`.toLowerCase().includes(q.toLowerCase()),
  );

/** A control that is done, or does not apply, is not overdue. */
function isDue({ dueDate, status }: Control, due: string, now: Date) {
  if (due === "none") return dueDate === null;
  if (dueDate === null || status === "implemented" || status === "not_applicable") return false;
  const today = now.toISOString().slice(0, 10);
  if (due === "overdue") return dueDate < today;
  return dueDate >= today && dueDate <= new Date(now.getTime() + MONTH_MS).toISOString().slice(0, 10);
}
