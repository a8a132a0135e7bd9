import { oneLine, padText, textWidth } from '../agent/policies/formats/terminal-text.ts';

type Rows = readonly (readonly string[])[];

/** A table as kubectl prints it: each column is as wide as its widest cell. Each row is one line, whatever is in its cells. */
export function formatTable(rows: Rows): string {
  return tableLines(rows, columnWidths(rows));
}

/** As many as the first row has cells. */
export function columnWidths(rows: Rows): readonly number[] {
  return (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, textWidth(oneLine(row[column] ?? ''))), 0),
  );
}

/** A line for each row, with its line break. A cell that is wider than its column moves those after it. */
export function tableLines(rows: Rows, widths: readonly number[]): string {
  return rows
    .map((row) => row.map((cell, column) => padText(oneLine(cell), widths[column] ?? 0)).join('   '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
