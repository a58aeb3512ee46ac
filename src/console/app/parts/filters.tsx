import { useEffect, useId, useRef } from "preact/hooks";
import { place, setQuery } from "../router";
import { toText } from "./fields";

/** What no choice of a select means is "All", or `otherwise`. */
export type Filter = { name: string; label: string } & (
  | { kind: "search"; placeholder?: string }
  | { kind: "select"; options: readonly (readonly [value: string, label: string])[]; otherwise?: string }
  | { kind: "moment" }
);

/** Milliseconds that a search waits for the next letter. */
const PAUSE_MS = 250;
/** Characters: more makes an address that browsers and servers refuse. */
export const LONGEST = 2_000;

/** Filters of a list, kept in the address, so that it can be sent to somebody. */
export const Filters = ({ of }: { of: Filter[] }) => (
  <search class="filters">
    {of.map((filter) => (
      <OneFilter key={filter.name} filter={filter} />
    ))}
  </search>
);

/** The filters' values, for `usePages`. */
export const filterQuery = (of: Filter[]) => Object.fromEntries(of.map(({ name }) => [name, place.value.query.get(name) ?? undefined]));

export const isFiltered = (of: Filter[]) => of.some(({ name }) => place.value.query.has(name));

function OneFilter({ filter }: { filter: Filter }) {
  const id = useId();
  return (
    <div class={`filter ${filter.kind}`}>
      <label for={id}>{filter.label}</label>
      <FilterInput id={id} filter={filter} />
    </div>
  );
}

function FilterInput({ id, filter }: { id: string; filter: Filter }) {
  const { name } = filter;
  const value = place.value.query.get(name) ?? "";
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const searchLater = (text: string) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ [name]: text.trim() }), PAUSE_MS);
  };
  if (filter.kind === "search")
    return (
      <input
        id={id}
        type="search"
        maxLength={LONGEST}
        defaultValue={value}
        placeholder={filter.placeholder}
        onInput={({ currentTarget }) => searchLater(currentTarget.value)}
      />
    );
  if (filter.kind === "moment")
    return (
      <input
        id={id}
        type="datetime-local"
        defaultValue={toLocal(value)}
        onChange={({ currentTarget }) => setQuery({ [name]: toMoment(currentTarget.value) })}
      />
    );
  return (
    <select id={id} value={value} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
      <option value="">{filter.otherwise ?? "All"}</option>
      {filter.options.map(([option, label]) => (
        <option key={option} value={option}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** The address has UTC, the input the reader's own zone. */
const toMoment = (text: string) => (text === "" ? "" : new Date(text).toISOString());
const toLocal = (moment: string) => (Number.isNaN(Date.parse(moment)) ? "" : toText("datetime", moment));
