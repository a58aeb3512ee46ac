import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

type Props<Value extends string> = { label: string; chosen: Signal<Value>; options: readonly (readonly [value: Value, label: string])[]; hint?: string };

/** A choice that says how a form goes on; inside of forms, fields of the kind "select" do. */
export function Select<Value extends string>({ label, chosen, options, hint }: Props<Value>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        required
        value={chosen.value}
        onChange={({ currentTarget }) => {
          chosen.value = options.find(([value]) => value === currentTarget.value)?.[0] ?? chosen.value;
        }}
      >
        {chosen.value === "" && <option value="">Choose…</option>}
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {hint && <p class="fine">{hint}</p>}
    </div>
  );
}
