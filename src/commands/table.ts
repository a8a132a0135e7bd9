/** A table as kubectl prints it: each column is as wide as its widest cell. Ends with a line break. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
