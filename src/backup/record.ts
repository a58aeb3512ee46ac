/** Returns the fields of a record as Postgres writes it: (a,"with ""quotes"" and \\",,) has null in its last two fields. */
export function parseRecord(record: string): (string | null)[] {
  const fields: (string | null)[] = [];
  for (let at = 1; at < record.length; ) {
    const isQuoted = record[at] === '"';
    const end = isQuoted ? endOfQuoted(record, at + 1) : endOfPlain(record, at);
    const text = record.slice(isQuoted ? at + 1 : at, end);
    fields.push(isQuoted ? text.replace(/""|\\[\s\S]/g, (pair) => pair[1] ?? "") : text || null);
    at = end + (isQuoted ? 2 : 1); // past the quote, and the comma or parenthesis
  }
  return fields;
}

function endOfPlain(record: string, from: number) {
  const comma = record.indexOf(",", from);
  return comma === -1 ? record.length - 1 : comma;
}

function endOfQuoted(record: string, from: number) {
  for (let at = from; at < record.length; at++) {
    const isPair = record[at] === "\\" || (record[at] === '"' && record[at + 1] === '"');
    if (isPair) at++;
    else if (record[at] === '"') return at;
  }
  return record.length;
}
