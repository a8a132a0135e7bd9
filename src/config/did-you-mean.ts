/** The known word that someone probably meant, or undefined when none is near. Upper and lower case count as equal. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const rated = known
    .map((candidate) => ({ candidate, edits: edits(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(
      ({ candidate, edits }) => edits <= Math.max(1, Math.floor(Math.min(word.length, candidate.length) / 3)),
    );
  return rated.sort((a, b) => a.edits - b.edits)[0]?.candidate;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const candidate = closest(word, known);
  return candidate === undefined ? '' : `; did you mean "${candidate}"?`;
}

/** Levenshtein distance: insertions, deletions and replacements of single characters. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [done, character] of Array.from(from).entries()) {
    const next = [done + 1];
    for (const [index, other] of Array.from(to).entries()) {
      const replaced = (row[index] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
