import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { usePages } from "../reading";
import { LONGEST } from "./filters";

type Props<Row> = {
  label: string;
  path: string;
  query?: Record<string, string | undefined>;
  /** The id of what is chosen. */
  chosen: Signal<string>;
  option: (row: Row) => { id: string; name: string };
  /** What the list takes to search for: words, or labels. */
  search?: keyof typeof PLACEHOLDERS;
  hint?: string;
};

const PLACEHOLDERS = { q: "Search…", selector: "env=prod,tier!=db" };

/** Milliseconds that a search waits for the next letter. */
const PAUSE_MS = 250;

/** Chooses one thing of a list of the API, by name. */
export function Choice<Row>({ label, path, query = {}, chosen, option, search, hint }: Props<Row>) {
  const id = useId();
  const words = useSignal("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const pages = usePages<Row>(path, { ...query, ...(search && { [search]: words.value || undefined }) });
  const options = pages.rows.value.map(option);
  const searchLater = (text: string) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => (words.value = text.trim()), PAUSE_MS);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {search && (
        <input
          type="search"
          maxLength={LONGEST}
          placeholder={PLACEHOLDERS[search]}
          aria-label={`Search: ${label}`}
          onInput={({ currentTarget }) => searchLater(currentTarget.value)}
        />
      )}
      <select id={id} required value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
        <option value="">{pages.isLoading.value ? "Loading…" : options.length === 0 ? "There is none" : "Choose…"}</option>
        {options.map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </select>
      {pages.error.value && <p class="fault">{pages.error.value.message}</p>}
      {!pages.isWhole.value && <p class="fine">The first hundred: search for others.</p>}
      {hint && <p class="fine">{hint}</p>}
    </div>
  );
}
