/** Random numbers that a seed repeats. */
export interface SeededRandom {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** A counter whose every value is scrambled by multiplications and shifts: 2^32 numbers before it repeats. */
export function seededRandom(seed: number): SeededRandom {
  let counter = seed >>> 0;
  const next = () => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let bits = counter;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[integer(0, items.length - 1)]!;
    },
  };
}
