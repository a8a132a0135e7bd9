/** A defect: a change of one file that the suites must notice. */
export interface Mutant {
  readonly name: string;
  /** What the defect breaks, with the rule or invariant of docs/lifecycle.md. */
  readonly breaks: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** The changed text of the file. Throws if the text to be replaced does not occur exactly once. */
export function mutated(text: string, { name, file, find, replace }: Mutant): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    const count = text.split(find).length - 1;
    throw new Error(
      `${name}: the text to be replaced occurs ${count} times in ${file}, not once. Bring the mutant up to date:\n${find}`,
    );
  }
  return before + replace + after;
}
