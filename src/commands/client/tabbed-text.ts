/** Lines whose cells end with tabs, aligned as kubectl aligns what it describes. */
import { padText, textWidth } from '../../agent/policies/formats/terminal-text.ts';

const GAP = 2;

/**
 * A cell is as wide as the widest one of its column, in the lines above and below that have a cell there as well. The text behind the last tab
 * belongs to no column.
 */
export function tabbedText(lines: readonly string[]): string {
  const rows = lines.map((line) => line.split('\t'));
  const widths = rows.map((): number[] => []);
  widen(rows, widths, { from: 0, to: rows.length, column: 0 });
  return rows
    .map((cells, row) => cells.map((cell, column) => padText(cell, widths[row]?.[column] ?? 0)).join(''))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly column: number;
}

/** A column goes on only through lines that have it: each such block has a width of its own. */
function widen(rows: readonly (readonly string[])[], widths: number[][], { from, to, column }: Block): void {
  const hasColumn = (row: number) => row < to && column < (rows[row]?.length ?? 0) - 1;
  for (let first = from; first < to; first += 1) {
    if (!hasColumn(first)) continue;
    let end = first;
    while (hasColumn(end)) end += 1;
    const cells = rows.slice(first, end).map((cells) => textWidth(cells[column] ?? ''));
    const width = Math.max(...cells) + GAP;
    for (const own of widths.slice(first, end)) own[column] = width;
    widen(rows, widths, { from: first, to: end, column: column + 1 });
    first = end;
  }
}
