import { expect, test } from '@jest/globals';
import { resolveNodeSettings } from '../../src/config/load-node-settings.ts';

const resolve = (file: Record<string, unknown>) => resolveNodeSettings({}, file, 'kubelet.yaml');

test('the fields about the memory of containers have their effect', () => {
  const file = {
    singleProcessOOMKill: false,
    memorySwap: { swapBehavior: 'LimitedSwap' },
    featureGates: { MemoryQoS: true },
    memoryThrottlingFactor: 0.75,
    memoryReservationPolicy: 'TieredReservation',
  };
  expect(resolve(file)).toMatchObject({
    singleProcessOOMKill: false,
    swapBehavior: 'LimitedSwap',
    memoryQoS: true,
    memoryThrottlingFactor: 0.75,
    memoryReservationPolicy: 'TieredReservation',
  });
});

test.each<[Record<string, unknown>, string]>([
  [
    { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    'kubelet.yaml: memorySwap.swapBehavior: must be NoSwap or LimitedSwap (got UnlimitedSwap)',
  ],
  [
    { memoryThrottlingFactor: 0 },
    'kubelet.yaml: memoryThrottlingFactor: must be greater than 0, and at most 1 (got 0)',
  ],
  [
    { memoryThrottlingFactor: 1.1 },
    'kubelet.yaml: memoryThrottlingFactor: must be greater than 0, and at most 1 (got 1.1)',
  ],
  [
    { memoryReservationPolicy: 'All' },
    'kubelet.yaml: memoryReservationPolicy: must be one of None, TieredReservation (got All)',
  ],
  [
    { memoryReservationPolicy: 'TieredReservation' },
    'kubelet.yaml: memoryReservationPolicy: TieredReservation needs the feature gate MemoryQoS: set featureGates.MemoryQoS to true',
  ],
])('%j is refused, and the error says what would be right', (file, message) => {
  expect(() => resolve(file)).toThrow(message);
});
