/** A row as a statement answers it, with its moments in ISO 8601 (`iso` in SQL). */
export type InIso<Row> = { [Field in keyof Row]: Row[Field] extends Date ? string : Row[Field] extends Date | null ? string | null : Row[Field] };

/** The row with dates for moments. */
export function withDates<Row extends object>(row: InIso<Row>, fields: readonly (keyof Row)[]): Row {
  const dates = fields.map((field) => [field, row[field] === null ? null : new Date(row[field] as string)]);
  return { ...row, ...Object.fromEntries(dates) } as Row;
}
