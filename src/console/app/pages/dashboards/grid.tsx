import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { inOrganization, write } from "../../api";
import { toast, toastError } from "../../parts/toast";
import { Frame } from "./frame";
import { describeBox, isSameBox } from "./placing";
import type { Box, Widget, WidgetKind } from "./types";

type Props = { widgets: Widget[]; kinds: WidgetKind[]; isArranging: boolean; reload: () => Promise<void> };
export type Draft = { id: string; box: Box } | undefined;

/** The widgets where they were placed. What is being moved is a draft until it is dropped, or Enter is pressed. */
export function Grid({ widgets, kinds, isArranging, reload }: Props) {
  const grid = useRef<HTMLDivElement>(null);
  const draft = useSignal<Draft>(undefined);
  async function commit() {
    const moved = draft.value;
    const widget = widgets.find(({ id }) => id === moved?.id);
    if (!moved || !widget || isSameBox(widget.position, moved.box)) return cancel();
    try {
      await write("PATCH", inOrganization("core", "widgets", widget.id), { body: { position: moved.box }, version: widget.version });
      toast(`${widget.title}: ${describeBox(moved.box)}.`);
      await reload();
    } finally {
      cancel();
    }
  }
  function cancel() {
    draft.value = undefined;
  }
  return (
    <>
      {isArranging && (
        <p class="notice">
          Drag a widget by its handle, and its lower right corner for its size. Or by keys: the arrows move the chosen handle’s widget, with Shift they size it,
          Enter keeps it there, Escape takes it back.
        </p>
      )}
      <p class="hidden" aria-live="polite">
        {draft.value && describeBox(draft.value.box)}
      </p>
      <div ref={grid} class="dashboard">
        {widgets.map((widget) => (
          <Frame
            key={widget.id}
            widget={widget}
            kinds={kinds}
            box={draft.value?.id === widget.id ? draft.value.box : widget.position}
            isMoving={draft.value?.id === widget.id}
            isArranging={isArranging}
            gridWidth={() => grid.current?.clientWidth ?? 1}
            onDraft={(box) => {
              draft.value = { id: widget.id, box };
            }}
            onCommit={() => void commit().catch(toastError)}
            onCancel={cancel}
            reload={reload}
          />
        ))}
      </div>
    </>
  );
}
