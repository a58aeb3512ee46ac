import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { below, inOrganization, write } from "../../api";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { useAll } from "../../reading";
import { widgetBody, widgetFields, widgetValues } from "./settings";
import type { Widget, WidgetKind } from "./types";

type Props = { kinds: WidgetKind[]; dashboard: string; widget?: Widget; onClose: () => void; reload: () => Promise<void> };

/** Adds a widget of a kind that is chosen first, or changes one. */
export function EditWidget({ kinds, dashboard, widget, onClose, reload }: Props) {
  const id = useId();
  const systems = useAll(inOrganization("ai-governance", "systems")).data.value;
  const thresholds = useAll(inOrganization("ai-governance", "metric-thresholds")).data.value;
  const known = systems && thresholds && { systems, metrics: [...new Set(thresholds.map(({ metric }) => metric))] };
  const chosen = useSignal(widget?.kind ?? "");
  const kind = kinds.find((each) => each.kind === chosen.value);
  async function save(values: Values) {
    const list = inOrganization("core", "widgets");
    const body = widgetBody(values, widget?.settings);
    await (widget ? write("PATCH", below(list, widget.id), { body, version: widget.version }) : write("POST", list, { body: { kind: kind?.kind, ...body } }));
    await reload();
    toast("Saved.");
    onClose();
  }
  return (
    <Dialog title={widget ? `Change ${widget.title}` : "Add a widget"} onClose={onClose}>
      {!widget && (
        <div class="field kind-field">
          <label for={id}>What it shows</label>
          <select id={id} value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
            <option value="">Choose…</option>
            {kinds.map((each) => (
              <option key={each.kind} value={each.kind}>
                {each.displayName}
              </option>
            ))}
          </select>
        </div>
      )}
      {kind && known && (
        <Form
          key={kind.kind}
          fields={widgetFields(kind, known, widget)}
          values={widgetValues(kind, known, dashboard, widget)}
          submit={widget ? "Save" : "Add"}
          onCancel={onClose}
          onSubmit={save}
        />
      )}
    </Dialog>
  );
}
