import { useSignal } from "@preact/signals";
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import { toError } from "../errors";
import { type Field, fromText, toText, type Values } from "./fields";
import { Icon } from "./icon";

export type { Field, Values } from "./fields";

type Props = {
  fields: Field[];
  values?: Values;
  submit: string;
  /** An error that it rejects with is shown in the form. */
  onSubmit: (values: Values) => Promise<unknown>;
  isDangerous?: boolean;
  onCancel?: () => void;
  children?: ComponentChildren;
};

/** A form of a list of fields; `fieldsOf` makes one of a JSON Schema. Empty fields are left out of the values. */
export function Form({ fields, values = {}, submit, onSubmit, isDangerous = false, onCancel, children }: Props) {
  const fault = useSignal("");
  const isBusy = useSignal(false);
  async function handle(event: SubmitEvent & { currentTarget: HTMLFormElement }) {
    event.preventDefault();
    if (isBusy.value) return;
    const form = event.currentTarget;
    isBusy.value = true;
    fault.value = "";
    try {
      await onSubmit(collect(form, fields));
    } catch (error) {
      fault.value = toError(error).message;
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <form class="form" onSubmit={(event) => void handle(event)}>
      {fields.map((field) => (
        <Input key={field.name} field={field} value={values[field.name]} />
      ))}
      {children}
      {fault.value && (
        <p class="fault" role="alert">
          <Icon name="warning" /> {fault.value}
        </p>
      )}
      <div class="dialog-actions">
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={isDangerous ? "danger" : "primary"} aria-disabled={isBusy.value}>
          {submit}
        </button>
      </div>
    </form>
  );
}

function collect(form: HTMLFormElement, fields: Field[]): Values {
  const inputs = fields.map((field) => {
    const input = form.elements.namedItem(field.name) as HTMLInputElement & HTMLSelectElement;
    return [field.name, readInput(input, field)] as const;
  });
  return Object.fromEntries(inputs.filter(([, value]) => value !== undefined));
}

function readInput(input: HTMLInputElement & HTMLSelectElement, field: Field) {
  if (field.kind === "boolean") return input.checked;
  return field.kind === "choices" ? Array.from(input.selectedOptions, ({ value }) => value) : fromText(field, input.value);
}

function Input({ field, value }: { field: Field; value: unknown }) {
  const id = useId();
  const { name, label, kind, required = false, hint } = field;
  const shared = { id, name, required, ...(hint && { "aria-describedby": `${id}-hint` }) };
  return (
    <div class={kind === "boolean" ? "field check" : "field"}>
      <label for={id}>
        {label}
        {!required && kind !== "boolean" && <span class="optional">optional</span>}
      </label>
      <Control field={field} shared={shared} value={value} />
      {hint && (
        <p class="fine" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

type Shared = { id: string; name: string; required: boolean };

function Control({ field, shared, value }: { field: Field; shared: Shared; value: unknown }) {
  const { kind, placeholder, suggestions } = field;
  const text = toText(kind, value);
  if (kind === "boolean") return <input {...shared} required={false} type="checkbox" defaultChecked={value === true} />;
  if (kind === "choices") return <Choices field={field} shared={shared} chosen={[value ?? []].flat().map(String)} />;
  if (kind === "select") return <Select field={field} shared={shared} text={text} />;
  if (LONG.has(kind)) return <LongText field={field} shared={shared} text={text} />;
  const list = `${shared.id}-list`;
  const type = kind === "datetime" ? "datetime-local" : kind;
  const more = { ...(kind === "number" && { step: "any" }), ...(suggestions && { list }) };
  const attributes = { type, placeholder, defaultValue: text, autoComplete: "off", spellcheck: false, ...more };
  return (
    <>
      <input {...shared} {...(attributes as InputHTMLAttributes)} />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </>
  );
}

const LONG = new Set<Field["kind"]>(["textarea", "lines", "pairs", "json", "secret"]);

/** A secret of many lines is hidden by the style: an input for passwords would join its lines. */
const LongText = ({ field: { kind, placeholder }, shared, text }: { field: Field; shared: Shared; text: string }) => (
  <textarea
    {...shared}
    class={kind === "secret" ? "secret" : ""}
    rows={kind === "textarea" ? 5 : 3}
    placeholder={placeholder ?? (kind === "pairs" ? "name=value" : "")}
    autoComplete="off"
    spellcheck={kind === "textarea"}
    defaultValue={text}
  />
);

function Select({ field: { options = [], labels = {} }, shared, text }: { field: Field; shared: Shared; text: string }) {
  return (
    <select {...shared} defaultValue={text}>
      {(!shared.required || text === "") && <option value="">{shared.required ? "Choose…" : "None"}</option>}
      {options.map((option) => (
        <option key={option} value={option} selected={option === text}>
          {labels[option] ?? option.replaceAll("_", " ")}
        </option>
      ))}
    </select>
  );
}

/** Several of a list; the browser's own way of choosing them works by keys and by touch. */
const Choices = ({ field: { options = [], labels = {} }, shared, chosen }: { field: Field; shared: Shared; chosen: string[] }) => (
  <select {...shared} multiple size={Math.min(6, Math.max(2, options.length))}>
    {options.map((option) => (
      <option key={option} value={option} selected={chosen.includes(option)}>
        {labels[option] ?? option}
      </option>
    ))}
  </select>
);
