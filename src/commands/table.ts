import { oneLine, padText, textWidth } from '../agent/policies/formats/terminal-text.ts';

type Rows = readonly (readonly string[])[];

/** A table as kubectl prints it: each column is as wide as its widest cell. Each row is one line, whatever is in its cells. */
export function formatTable(rows: Rows): string {
  return tableLines(rows, columnWidths(rows));
}

/** As many as the first row has cells. */
function columnWidths(rows: Rows): readonly number[] {
  return (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, textWidth(oneLine(row[column] ?? ''))), 0),
  );
}

/** A line for each row, with its line break. A cell that is wider than its column moves those after it. */
function tableLines(rows: Rows, widths: readonly number[]): string {
  return rows
    .map((row) => row.map((cell, column) => padText(oneLine(cell), widths[column] ?? 0)).join('   '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** A table whose rows come little by little: the first ones decide how wide the columns are; later ones keep to that where they can. */
export class SteadyTable {
  readonly #header: readonly string[] | undefined;
  #widths: readonly number[] | undefined;

  constructor(header: readonly string[] | undefined) {
    this.#header = header;
  }

  /** What to print for them. */
  add(rows: Rows): string {
    if (this.#widths !== undefined) return tableLines(rows, this.#widths);
    const all = this.#header === undefined ? rows : [this.#header, ...rows];
    this.#widths = columnWidths(all);
    return tableLines(all, this.#widths);
  }
}
