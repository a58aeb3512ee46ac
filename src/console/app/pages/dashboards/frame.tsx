import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { inOrganization, write } from "../../api";
import { DeleteButton } from "../../parts/delete";
import { toast } from "../../parts/toast";
import { EditWidget } from "./edit";
import { Handle, type Placing } from "./handle";
import { moveBox, sizeBox } from "./placing";
import type { Widget, WidgetKind } from "./types";
import { WidgetView } from "./views/view";

type Props = Placing & { widget: Widget; kinds: WidgetKind[]; isMoving: boolean; isArranging: boolean; reload: () => Promise<void> };

/** A widget at its place in the grid, with its title; while arranging, with handles and buttons. */
export function Frame({ widget, kinds, isMoving, isArranging, reload, ...placing }: Props) {
  const { x, y, width, height } = placing.box;
  const frame = useRef<HTMLElement>(null);
  const isEditing = useSignal(false);
  useEffect(() => frame.current?.style.setProperty("grid-area", `${y + 1} / ${x + 1} / span ${height} / span ${width}`), [x, y, width, height]);
  async function remove() {
    await write("DELETE", inOrganization("core", "widgets", widget.id), { version: widget.version });
    await reload();
    toast(`${widget.title} was removed.`);
  }
  return (
    <section ref={frame} class={isMoving ? "widget card moving" : "widget card"} aria-label={widget.title}>
      <div class="card-top">
        {isArranging && <Handle {...placing} change={moveBox} label={`Move ${widget.title}`} icon="menu" />}
        <h2>{widget.title}</h2>
        {isArranging && (
          <span class="row-actions">
            <button type="button" class="quiet" aria-label={`Change ${widget.title}`} onClick={() => (isEditing.value = true)}>
              Change
            </button>
            <DeleteButton name={widget.title} label="Remove" onConfirmed={remove} />
          </span>
        )}
      </div>
      <WidgetView key={JSON.stringify(widget.settings)} widget={widget} />
      {isArranging && <Handle {...placing} change={sizeBox} label={`Size ${widget.title}`} icon="corner" />}
      {isEditing.value && <EditWidget kinds={kinds} dashboard={widget.dashboard} widget={widget} onClose={() => (isEditing.value = false)} reload={reload} />}
    </section>
  );
}
