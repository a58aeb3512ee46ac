import type { ComponentChildren } from "preact";
import type { Pages } from "../reading";
import { link } from "../router";
import { EmptyState } from "./empty";
import { type Filter, Filters, isFiltered } from "./filters";
import { PageHeading } from "./heading";
import { type Column, DataTable } from "./table";

type Props<Row> = {
  title: string;
  intro: string;
  actions?: ComponentChildren;
  /** The list's own page, below which its rows have theirs. */
  path: string;
  from: Pages<Row>;
  columns: Column<Row>[];
  /** The last part of the path of a row's page. */
  id: (row: Row) => string;
  /** The row's page, if it is not below that of the list. */
  href?: (row: Row) => string;
  filters?: Filter[];
  /** Said if the filters let nothing through. */
  noMatch?: string;
  /** Said if there is nothing at all. */
  none: { title: string; hint: string; action?: { label: string; href: string } };
  /** Between the heading and the filters. */
  children?: ComponentChildren;
};

/** The page of a list: its heading, its filters, and a table in which each row leads to its own page. */
export function ListPage<Row>({ title, intro, actions, path, from, columns, id, href, filters = [], noMatch = "", none, children }: Props<Row>) {
  const word = filters.length === 1 ? "filter" : "filters";
  return (
    <>
      <PageHeading title={title} intro={intro} actions={actions} />
      {children}
      {filters.length > 0 && <Filters of={filters} />}
      <DataTable
        label={title}
        columns={columns}
        from={from}
        id={id}
        href={href ?? ((row) => link(`${path}/${id(row)}`))}
        empty={
          isFiltered(filters) ? (
            <EmptyState title={noMatch} hint={`Change or clear the ${word} above.`} action={{ label: `Clear the ${word}`, href: link(path) }} />
          ) : (
            <EmptyState {...none} />
          )
        }
      />
    </>
  );
}
