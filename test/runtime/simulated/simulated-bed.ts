import type { Random } from '../../../src/runtime/simulated/chance.ts';

/** The first number of each key is its only one. */
export function keyedRandom(seed: number): Random {
  return (key) => {
    // FNV-1a, then scrambled.
    let bits = (0x811c9dc5 ^ seed) >>> 0;
    for (let index = 0; index < key.length; index += 1)
      bits = Math.imul(bits ^ key.charCodeAt(index), 0x01000193);
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}
