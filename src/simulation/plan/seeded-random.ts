/** Random numbers. Equal seeds give equal numbers. */
export interface SeededRandom {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `min` to `max`, inclusive. */
  integer(min: number, max: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** A copy that continues with the same numbers. */
  fork(): SeededRandom;
}

/** A counter whose values are scrambled by multiplications and shifts. It repeats after 2^32 numbers. */
export function seededRandom(seed: number): SeededRandom {
  let counter = seed >>> 0;
  const next = () => {
    counter = (counter + 0x9e3779b9) >>> 0;
    return scrambled(counter) / 2 ** 32;
  };
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[integer(0, items.length - 1)] as Item;
    },
    fork: () => seededRandom(counter),
  };
}

/**
 * In [0, 1), by the seed and the key alone. A number does not depend on which other numbers are drawn, so a run with fewer
 * operations draws the same numbers for the remaining ones.
 */
export function keyedRandom(seed: number): (key: string) => number {
  const start = scrambled(seed >>> 0);
  return (key) => {
    let hash = start ^ 0x811c9dc5;
    for (let index = 0; index < key.length; index++) {
      hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
    }
    return scrambled(hash >>> 0) / 2 ** 32;
  };
}

function scrambled(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}
