/**
 * Runs the work for each item, for at most `limit` of them at a time. After a failure no other begins. Settles when no work is under
 * way any more; rejects with the first failure.
 */
export async function eachOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runInTurn = async () => {
    try {
      for (let next = await waiting.next(); !next.done; next = await waiting.next()) {
        if (failures.length > 0) return;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: limit }, runInTurn));
  await waiting.return?.();
  if (failures.length > 0) throw failures[0];
}
