import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Address, QueryOf, Readable, RowOf } from "../operations";
import { usePages } from "../reading";
import { SearchInput } from "./search-input";

type Props<There extends Readable> = {
  label: string;
  path: Address<There>;
  query?: QueryOf<There["get"]>;
  /** The id of the chosen thing. */
  chosen: Signal<string>;
  option: (row: RowOf<There>) => { id: string; name: string };
  /** The list searches for words, or for labels. */
  search?: keyof typeof PLACEHOLDERS;
  hint?: string;
};

const PLACEHOLDERS = { q: "Search…", selector: "env=prod,tier!=db" };

/** Chooses one thing of a list of the API, by name. */
export function Choice<There extends Readable>({ label, path, query, chosen, option, search, hint }: Props<There>) {
  const id = useId();
  const words = useSignal("");
  const pages = usePages(path, { ...query, ...(search && { [search]: words.value || undefined }) } as QueryOf<There["get"]>);
  const options = pages.rows.value.map(option);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {search && <SearchInput placeholder={PLACEHOLDERS[search]} aria-label={`Search: ${label}`} onSearch={(text) => (words.value = text)} />}
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
