/** The resources that may become short on simulated nodes, and the thresholds of eviction there. */
import { expect, test } from '@jest/globals';
import { thresholdQuantity } from '../../../src/agent/policies/eviction/thresholds.ts';
import { parseQuantity, quantityValue } from '../../../src/agent/policies/formats/quantity.ts';
import { evictionConfiguration } from '../../../src/simulation/resources/eviction-rules.ts';
import { drawnNodeResources } from '../../../src/simulation/resources/node-resources.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';

const NODES = Array.from({ length: 200 }, (_, seed) => drawnNodeResources(8, keyedRandom(seed)));
const EVICTING = NODES.filter((node) => node !== undefined);
const CAPACITY = parseQuantity('1');

test('the agent gets the thresholds that the judge uses', () => {
  for (const { rules } of EVICTING) {
    const { thresholds } = evictionConfiguration(rules);
    const told = thresholds.map(({ signal, value, gracePeriodMs, minReclaim }) => ({
      signal,
      gracePeriodMs,
      amount: Number(quantityValue(thresholdQuantity(value, CAPACITY))),
      minReclaim: minReclaim ? Number(quantityValue(thresholdQuantity(minReclaim, CAPACITY))) : 0,
    }));
    expect(told).toHaveLength(rules.thresholds.length);
    expect(told).toEqual(expect.arrayContaining([...rules.thresholds]));
  }
});

test('nodes differ in their resources, in the layout of their disks, and in their thresholds', () => {
  expect(EVICTING.length).toBeLessThan(NODES.length);
  const signals = EVICTING.flatMap(({ rules }) => rules.thresholds.map(({ signal }) => signal));
  expect([...new Set(signals)].sort()).toEqual([
    ...['allocatableMemory.available', 'imagefs.available', 'imagefs.inodesFree', 'memory.available'],
    ...['nodefs.available', 'nodefs.inodesFree', 'pid.available'],
  ]);
  const layouts = EVICTING.flatMap(({ disks }) => (disks ? [JSON.stringify(disks.layout)] : []));
  expect(new Set(layouts).size).toBe(3);
  const rules = EVICTING.flatMap(({ rules: { thresholds } }) => thresholds);
  const kinds = rules.map(({ gracePeriodMs, minReclaim }) => `${gracePeriodMs > 0} ${minReclaim > 0}`);
  expect(new Set(kinds).size).toBe(4);
  expect(EVICTING.some(({ oldImages }) => oldImages.length > 0)).toBe(true);
});
