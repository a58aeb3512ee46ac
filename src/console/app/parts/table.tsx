import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Pages } from "../reading";
import { Failure } from "./empty";
import { type Window, windowOf } from "./rows";

/** Pixels; the style's rows are as high. */
const ROW_HEIGHT = 48;

export type Column<Row> = { label: string; cell: (row: Row) => ComponentChildren; align?: "end"; isWide?: boolean };
type Props<Row> = {
  label: string;
  columns: Column<Row>[];
  from: Pages<Row>;
  id: (row: Row) => string;
  /** The page that the row's first cell leads to. */
  href?: (row: Row) => string;
  /** Shown where there are no rows. */
  empty: ComponentChildren;
};

/** A list of the API: only rows in sight are in the document, the next page is read before its rows come into sight. */
export function DataTable<Row>({ label, columns, from, id, href, empty }: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const position = useSignal({ top: 0, height: 800 });
  const rows = from.rows.value;
  const shown = windowOf({ ...position.value, count: rows.length, rowHeight: ROW_HEIGHT });
  const isNearEnd = shown.end > rows.length - 30;
  useEffect(() => {
    if (isNearEnd && rows.length > 0) void from.more();
  }, [isNearEnd, rows.length, from]);
  const measure = () => {
    if (box.current) position.value = { top: box.current.scrollTop, height: box.current.clientHeight };
  };
  if (from.error.value) return <Failure error={from.error.value} retry={() => void from.reload()} />;
  if (rows.length === 0) return from.isWhole.value ? empty : <p class="loading">Loading…</p>;
  return (
    <>
      <section class="table-box" ref={box} onScroll={measure} aria-label={label} onKeyDown={moveFocus}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
        <table tabIndex={0} aria-label={label} aria-rowcount={from.isWhole.value ? rows.length + 1 : -1}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.label} scope="col" class={column.align}>
                  {column.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={shown.before} columns={columns.length} />
            {rows.slice(shown.start, shown.end).map((row, index) => (
              <tr key={id(row)} aria-rowindex={shown.start + index + 2}>
                {columns.map((column, position) => (
                  <td key={column.label} class={column.align} data-label={column.label}>
                    {position === 0 && href ? (
                      <a class="row-link" href={href(row)}>
                        {column.cell(row)}
                      </a>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            ))}
            <Spacer height={shown.after} columns={columns.length} />
          </tbody>
        </table>
      </section>
      <p class="count">{describeCount(rows.length, from.isWhole.value)}</p>
    </>
  );
}

const describeCount = (count: number, isWhole: boolean) =>
  isWhole ? `${count.toLocaleString()} ${count === 1 ? "row" : "rows"}` : `${count.toLocaleString()} rows so far; more come as you scroll`;

/** The height of rows that are not in the document. */
function Spacer({ height, columns }: { height: Window["before"]; columns: number }) {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => row.current?.style.setProperty("height", `${height}px`), [height]);
  return height > 0 ? (
    <tr ref={row} class="spacer">
      <td colSpan={columns} />
    </tr>
  ) : null;
}

/** The arrows go from row to row. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>(".row-link")];
  if (step === undefined || links.length === 0) return;
  const current = document.activeElement instanceof HTMLElement ? links.indexOf(document.activeElement) : -1;
  event.preventDefault();
  links[Math.min(Math.max(current + step, 0), links.length - 1)]?.focus();
}
