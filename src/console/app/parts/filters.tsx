import { useId } from "preact/hooks";
import { place, setQuery } from "../router";
import { toText } from "./fields";
import { SearchInput } from "./search-input";

/** A select without a choice reads "All", or `otherwise`. */
export type Filter = { name: string; label: string } & (
  | { kind: "search"; placeholder?: string }
  | { kind: "select"; options: readonly (readonly [value: string, label: string])[]; otherwise?: string }
  | { kind: "moment" }
);

/** Filters of a list, kept in the address, so that a link shows the same. */
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
  if (filter.kind === "search")
    return <SearchInput id={id} defaultValue={value} placeholder={filter.placeholder} onSearch={(text) => setQuery({ [name]: text })} />;
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
