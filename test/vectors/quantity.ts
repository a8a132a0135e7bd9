import {
  compareQuantity,
  formatQuantity,
  milliValue,
  parseQuantity,
  quantityString,
  quantityValue,
  ZERO_QUANTITY,
} from '../../src/agent/policies/formats/quantity.ts';
import { errorMessage } from '../../src/types/errors.ts';
import type { VectorAdapter } from '../support/vectors.ts';

export const adapter: VectorAdapter = {
  adapt({ s }: { readonly s: string }) {
    try {
      const quantity = parseQuantity(s);
      return {
        valid: true,
        canonical: formatQuantity(quantity),
        string: quantityString(quantity),
        format: quantity.format,
        sign: compareQuantity(quantity, ZERO_QUANTITY),
        value: quantityValue(quantity).toString(),
        milliValue: milliValue(quantity).toString(),
      };
    } catch (error) {
      return { valid: false, error: errorMessage(error) };
    }
  },
  /** null: the kubelet's own answer overflows, so every exact answer is right. */
  matches(got: Record<string, unknown>, want: Record<string, unknown>) {
    return Object.entries(want).every(([key, value]) => value === null || got[key] === value);
  },
};
