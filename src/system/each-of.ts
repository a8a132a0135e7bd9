/**
 * Runs the work for each item, for at most `limit` of them at a time. After a failure no other begins. Settles when no work is under
 * way any more; rejects with the first failure.
 */
export async function eachOf<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runInTurn = async () => {
    for (let next = waiting.next(); !next.done && failures.length === 0; next = waiting.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, runInTurn));
  if (failures.length > 0) throw failures[0];
}
