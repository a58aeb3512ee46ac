import { useRef } from "preact/hooks";
import { Icon, type IconName } from "../../parts/icon";
import { boxAfterKey, cellsOf, type moveBox } from "./placing";
import type { Box } from "./types";

export type Placing = {
  box: Box;
  gridWidth: () => number;
  onDraft: (box: Box) => void;
  onCommit: () => void;
  onCancel: () => void;
};
type Props = Placing & { change: typeof moveBox; label: string; icon: IconName };

/** A button that moves or sizes its widget, by pointer and by keys. */
export function Handle({ box, gridWidth, onDraft, onCommit, onCancel, change, label, icon }: Props) {
  const start = useRef<{ x: number; y: number; box: Props["box"] } | undefined>(undefined);
  function take(event: PointerEvent & { currentTarget: HTMLElement }) {
    event.currentTarget.setPointerCapture(event.pointerId);
    start.current = { x: event.clientX, y: event.clientY, box };
  }
  function drag({ clientX, clientY }: PointerEvent) {
    if (!start.current) return;
    const { x, y, box: from } = start.current;
    onDraft(change(from, ...cellsOf([clientX - x, clientY - y], gridWidth())));
  }
  function drop() {
    if (start.current) onCommit();
    start.current = undefined;
  }
  function press(event: KeyboardEvent) {
    const next = boxAfterKey(box, event.key, event.shiftKey || icon === "corner");
    if (next) onDraft(next);
    else if (event.key === "Enter") onCommit();
    else if (event.key === "Escape") onCancel();
    else return;
    event.preventDefault();
  }
  return (
    <button
      type="button"
      class={icon === "corner" ? "quiet handle corner" : "quiet handle"}
      aria-label={label}
      onPointerDown={take}
      onPointerMove={drag}
      onPointerUp={drop}
      onPointerCancel={onCancel}
      onKeyDown={press}
      onBlur={onCancel}
    >
      <Icon name={icon} />
    </button>
  );
}
