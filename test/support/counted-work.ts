/** Counts how often the members of objects are read, to show how work grows with the size of a pod. */
export class CountedReads {
  reads = 0;

  /** The same items, which count each read of a member. */
  of<T extends object>(items: readonly T[]): readonly T[] {
    return items.map(
      (item) =>
        new Proxy(item, {
          get: (target, key, receiver) => {
            this.reads += 1;
            return Reflect.get(target, key, receiver) as unknown;
          },
        }),
    );
  }
}

/** How many times as many reads the work takes for ten times as many items. */
export function growth(work: (count: number, reads: CountedReads) => unknown, count = 200): number {
  const [few, many] = [count, 10 * count].map((size) => {
    const reads = new CountedReads();
    work(size, reads);
    return reads.reads;
  }) as [number, number];
  return many / few;
}
