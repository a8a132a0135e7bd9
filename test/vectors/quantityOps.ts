import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  maxQuantity,
  parseQuantity,
  subQuantity,
} from '../../src/agent/policies/formats/quantity.ts';
import type { VectorAdapter } from '../support/vectors.ts';

export const adapter: VectorAdapter = {
  adapt(input: { readonly a: string; readonly b: string }) {
    const [a, b] = [parseQuantity(input.a), parseQuantity(input.b)];
    const cmp = compareQuantity(a, b);
    return {
      cmp,
      equal: cmp === 0,
      add: formatQuantity(addQuantity(a, b)),
      sub: formatQuantity(subQuantity(a, b)),
      max: formatQuantity(maxQuantity(a, b)),
    };
  },
};
