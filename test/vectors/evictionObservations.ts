import { observe } from '../../src/agent/policies/eviction/observations.ts';
import { quantityString, quantityValue } from '../../src/agent/policies/formats/quantity.ts';
import type { Summary } from '../../src/types/stats.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly summary: Summary;
}

export const adapter: VectorAdapter = {
  adapt({ summary }: Input) {
    const observations = Array.from(observe(summary), ([signal, { available, capacity, timeMs }]) => [
      signal,
      {
        available: quantityString(available),
        availableValue: String(quantityValue(available)),
        capacity: quantityString(capacity),
        capacityValue: String(quantityValue(capacity)),
        time: timeMs === undefined ? null : timeMs / 1000,
      },
    ]);
    return { observations: Object.fromEntries(observations) as unknown };
  },
};
