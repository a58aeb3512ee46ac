import { below, inOrganization, write } from "../../api";
import type { RowInOrganization } from "../../operations";
import { Dialog } from "../../parts/dialog";
import { type Field, Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";

export type Threshold = RowInOrganization<["ai-governance", "metric-thresholds"]>;
type Props = { system: string; metric?: string; threshold?: Threshold | undefined; onClose: () => void; onChanged: () => Promise<void> };

const LIMITS: Field[] = [
  { name: "min", label: "At least", kind: "number" },
  { name: "max", label: "At most", kind: "number", hint: "Administrators are notified when a sample is outside. Without both, the limits are removed." },
];

/** Sets, changes or removes the limits of a metric. */
export function EditThreshold({ system, metric, threshold, onClose, onChanged }: Props) {
  const fields: Field[] = metric === undefined ? [{ name: "metric", label: "Metric", kind: "text", required: true }, ...LIMITS] : LIMITS;
  async function save(values: Values) {
    await saveLimits({ metric, ...values }, system, threshold);
    await onChanged();
    toast("Saved.");
    onClose();
  }
  return (
    <Dialog title={metric === undefined ? "Set limits" : `Limits of ${metric}`} onClose={onClose}>
      <Form fields={fields} values={{ ...threshold }} submit="Save" onCancel={onClose} onSubmit={save} />
    </Dialog>
  );
}

function saveLimits({ metric, min, max }: Values, system: string, threshold: Threshold | undefined) {
  const list = inOrganization("ai-governance", "metric-thresholds");
  if (!threshold) return write("POST", list, { body: { system, metric, min, max } });
  const { id, version } = threshold;
  const path = below(list, id);
  if (min === undefined && max === undefined) return write("DELETE", path, { version });
  return write("PATCH", path, { body: { min: min ?? null, max: max ?? null }, version });
}
