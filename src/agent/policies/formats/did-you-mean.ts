/** How many edits a word may differ from a known word that is suggested for it. */
type EditsMax = (word: string, candidate: string) => number;

const thirdOfTheShorter: EditsMax = (word, candidate) =>
  Math.max(1, Math.floor(Math.min(word.length, candidate.length) / 3));

/** `; did you mean "x"?` with the nearest known word, or an empty text if none is near. Case is ignored. */
export function didYouMean(
  word: string,
  known: readonly string[],
  editsMax: EditsMax = thirdOfTheShorter,
): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, edits: edits(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= editsMax(word, candidate))
    .sort((a, b) => a.edits - b.edits);
  return nearest === undefined ? '' : `; did you mean "${nearest.candidate}"?`;
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
