import { signal } from "@preact/signals";
import { toError } from "../errors";
import { Icon } from "./icon";

type Toast = { id: number; text: string; tone: "good" | "bad" };

const SHOWN_MS = 6_000;
const toasts = signal<Toast[]>([]);
let last = 0;

/** Shows in a corner, and to screen readers, what was done or why it was not. */
export function toast(text: string, tone: Toast["tone"] = "good") {
  const shown = { id: ++last, text, tone };
  toasts.value = [...toasts.value, shown];
  setTimeout(() => dismiss(shown.id), SHOWN_MS);
}

/** For the end of a promise: `work.catch(toastError)`. */
export const toastError = (error: unknown) => toast(toError(error).message, "bad");

function dismiss(id: number) {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text, tone }) => (
      <div key={id} class={`toast ${tone}`}>
        <Icon name={tone === "good" ? "check" : "warning"} />
        <span>{text}</span>
        <button class="quiet" type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
          <Icon name="cross" />
        </button>
      </div>
    ))}
  </div>
);
