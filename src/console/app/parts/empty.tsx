import type { ComponentChildren } from "preact";
import type { Reading } from "../reading";
import { Icon } from "./icon";

type Props = { title: string; hint: ComponentChildren; action?: { label: string; href: string } };

/** Says that something is missing, and how to go on. */
export const EmptyState = ({ title, hint, action }: Props) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    <p>{hint}</p>
    {action && (
      <a class="button" href={action.href}>
        {action.label}
      </a>
    )}
  </div>
);

/** The API's own sentence, and a way to try again. */
export const Failure = ({ error, retry }: { error: Error; retry?: () => void }) => (
  <div class="failure" role="alert">
    <Icon name="warning" />
    <p>{error.message}</p>
    {retry && (
      <button type="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
);

/** Shows data that was read, or the reason why it was not. */
export function Loaded<T>({ from, children }: { from: Reading<T>; children: (data: T) => ComponentChildren }) {
  if (from.error.value) return <Failure error={from.error.value} retry={() => void from.reload()} />;
  if (from.data.value === undefined) return <p class="loading">Loading…</p>;
  return <>{children(from.data.value)}</>;
}
