/** The table that ends a bench. */

/** A figure, and the same of what ran beside it; the name of the row says their unit. */
export interface Compared {
  readonly figure: number;
  /** What ran beside it. A row without it has no ratio. */
  readonly beside?: string;
  readonly itsFigure?: number;
}

/** Prints the rows by their names, with the ratio of each figure to the one beside it. */
export function printTable(rows: Readonly<Record<string, Compared>>): void {
  const shown = Object.entries(rows).map(([name, { figure, beside, itsFigure }]) => {
    const compared = itsFigure !== undefined && { beside, 'its figure': rounded(itsFigure) };
    const ratio = itsFigure !== undefined && { ratio: rounded(figure / itsFigure) };
    return [name, { figure: rounded(figure), ...compared, ...ratio }];
  });
  console.table(Object.fromEntries(shown));
}

const DIGITS = 3;

/** To three digits, and whole numbers as they are. */
export const rounded = (figure: number): number =>
  Number.isInteger(figure) ? figure : Number(figure.toPrecision(DIGITS));
