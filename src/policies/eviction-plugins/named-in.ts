/**
 * Whether a list of names names this one: by itself, or by `*` for all. `-NAME` leaves one out of `*`. The first entry that is about
 * the name counts.
 */
export function isNamedIn(list: readonly string[], name: string): boolean {
  for (const entry of list) {
    if (entry === name) return true;
    if (entry === `-${name}`) return false;
  }
  return list.includes('*');
}
