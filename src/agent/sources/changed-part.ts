interface ChangedPart<T> {
  readonly start: number;
  /** Of the list before, from `start` on. */
  readonly removed: readonly T[];
  /** In their place. */
  readonly added: readonly T[];
}

/** What lies between the common beginning and the common end of two lists. The items themselves are not looked into. */
export function changedPart<T>(before: readonly T[], after: readonly T[]): ChangedPart<T> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return {
    start,
    removed: before.slice(start, before.length - end),
    added: after.slice(start, after.length - end),
  };
}
